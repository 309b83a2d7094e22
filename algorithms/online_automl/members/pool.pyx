"""Members next to today's prediction, and what they and their stack say together.

*Today's prediction* is that of the live models and the naive baselines
(`leaseboard.algorithms.online_automl.safe.mixture`), of many classes that of all races
(`leaseboard.algorithms.online_automl.one_vs_rest`). The members are trees, Fourier features,
neighbours and boosted trees; one without a lease is said to predict today's prediction. There are
no boosted trees where LightGBM is not installed when a model begins.

**Numbers.** Members are clipped to the range of labels. A recursive ridge regression that forgets
*stacks* them: it predicts today's error by how far each member is from it. The prediction is made
of the six as today's is made of models and baselines: their posterior mean, and an aggregate of
that and of each of the six.

**Theorem.** For every sequence of labels, after each one, the squared loss is at most that of the
best of today's prediction, the stack and the members plus the constant of
`leaseboard.algorithms.online_automl.safe.mixture` with seven experts, and so at most that of the
best naive baseline plus two such constants.

*Proof.* The theorem of the aggregate, of which each of the six is an expert, and that of today's
prediction. ∎

**Classes.** A logarithmic pool *stacks* today's prediction and the members [1]_: it predicts in
proportion to Π_m p_m(k)^w_m, with weights w that learn online, by a step of Newton's method on the
log loss for each label, whose curvature forgets. At first it is today's prediction. The probability
that is predicted is the average of the six by Bayes' rule
(`leaseboard.algorithms.online_automl.safe.bayes`).

**Theorem.** For every sequence of examples, after each one, the log loss is at most ln 6 + A,
3.39 nats, above that of the best of today's prediction, the stack and the members, and so at most
ln 6 + A + c above that of the best expert of today's prediction, where its own theorem has the
constant c: ln 7 + A for two classes, ln 6 + A for more. None of the six gives a class less than
`LEAST` over the number of classes. The example with which a class comes is left out.

*Proof.* Bayes' rule over the six, then over today's experts. ∎

**Leases.** ChaCha gives leases of examples to configurations that all cost the same. Members of a pool do
not: on a linear stream trees say nothing that the linear models do not, and would take most of the
time. So a member is granted a lease of examples, at the end of which it shows what it is worth:
the share of the loss of today's prediction, or of another that it is held against, that an average
of it and a quarter of the member would have saved, of boosted trees since their last fit. It goes
on, for a lease that is twice as long, if that is at least `PRICE` for each time that today's
prediction costs. Otherwise it pauses: it neither predicts nor learns, and what it is said to
predict is today's prediction. The pause is followed by a new lease, and each pause is twice as
long as the one before, so that what is useless costs less and less.

Costs are counted in operations, so the same stream gives the same leases on every machine.

References
----------
.. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.
"""

import math
from contextlib import contextmanager

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.online_automl.members import boosted
from leaseboard.algorithms.online_automl.members.learners import FourierRidge, Neighbours
from leaseboard.algorithms.online_automl.members.trees import RandomTrees
from leaseboard.algorithms.online_automl.safe.bayes import new_weights
from leaseboard.algorithms.online_automl.safe.mixture import PREFERENCE
from leaseboard.algorithms.transcendental import exp_all

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.log_pool cimport PRIOR, add_up, pool_logs, step_pool
from leaseboard.algorithms.online_automl.members.learners cimport Given, Member
from leaseboard.algorithms.online_automl.members.view cimport TreeView
from leaseboard.algorithms.online_automl.safe cimport bayes
from leaseboard.algorithms.online_automl.safe.mixture cimport ETA, FIELDS, LOST, MASS, SHARE_OF_BOUND
from leaseboard.algorithms.reference.steps cimport add_moments, standardise
from leaseboard.algorithms.online_automl.safe.expansion cimport N_SIMPLE, RIDGE

cpdef enum:
    BOOSTED = 3  # the last of the members

# What an example is worth to the stack of numbers one example later; the variance of each of its
# weights at first, and at most, where errors of today's have variance 1; the times of the mean
# squared error of today's prediction as which one error counts at most in it; and the mean losses
# by which a member that begins to predict is behind the best.
cdef double _FORGETTING = 0.999, _VARIANCE = 1.0, _FAR = 100.0, _ENTRY = 8.0
cdef double LEAST = 1e-3

cpdef enum:
    # The fields of a member's lease: whether it has one, since which example, of how many; the next
    # pause; and the loss that it saved in this lease.
    AWAKE, SINCE, LENGTH, PAUSE, SAVED

TRIAL, LONGEST = 1024, 8192
"""Examples of a lease after a pause, and of the longest."""

FIRST_PAUSE = 4096

PRICE = 0.002

OPERATIONS = 1000.0
"""Operations a microsecond, of one core of an AMD EPYC of 2024."""

TODAY_OPERATIONS = 8000.0
"""What the prediction without members costs, for numbers and for two classes."""

KINDS = RandomTrees, FourierRidge, Neighbours, boosted.BoostedTrees
MOST_COLUMNS = 1024, 64, 64, 512
"""The members, and the most columns of each: random columns of more say little, of more all
examples are about as far away as the nearest, and of more a fit takes too long."""

TREES = 0, BOOSTED
"""Those that see what is in `leaseboard.algorithms.online_automl.members.view`."""

FIRST_LEASES = (TRIAL, TRIAL, TRIAL, 4 * TRIAL)
"""Examples of the first lease of each: boosted trees say little before their fourth fit."""

SHOWN = ("live models", "trees", "Fourier features", "neighbours", "boosted trees", "stack")
"""What users call today's prediction, the members and their stack."""


class Leases(plain.Saved):
    """Leases of the members of a pool.

    Parameters
    ----------
    first : sequence of int
        Examples of the first lease of each.

    Attributes
    ----------
    table : ndarray of float64, shape (n_members, 5)
        See `AWAKE` and those after it.
    lost : ndarray of float64, shape (n_members,)
        Loss of today's prediction in this lease.
    due : float
        The example after which a lease or a pause ends.
    """

    kept = ("table", "lost")

    def __init__(self, first) -> None:
        self.table = np.zeros((len(first), 5))
        self.table[:, [AWAKE, PAUSE]] = 1.0, FIRST_PAUSE
        self.table[:, LENGTH] = first
        self.lost = np.zeros(len(first))
        self.due = float(min(first))

    def end(self, member, at, pause=math.inf) -> None:
        """Let a member pause after `at` examples, for good unless a length is given."""
        row = self.table[member]
        row[AWAKE], row[SINCE], row[LENGTH] = 0.0, at, pause

    def fill(self, state) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        self.plan()

    def plan(self) -> None:
        """Find when the next lease or pause ends."""
        self.due = float((self.table[:, SINCE] + self.table[:, LENGTH]).min())

    def review(self, at, operations, today) -> None:
        """Decide after `at` examples, by what members and today's prediction cost an example."""
        for member, row in enumerate(self.table):
            if at - row[SINCE] < row[LENGTH]:
                continue
            paused = not row[AWAKE]
            gain = row[SAVED] / self.lost[member] if self.lost[member] > 0.0 else 0.0
            if paused or gain >= PRICE * operations[member] / today:
                row[LENGTH] = TRIAL if paused else min(2.0 * row[LENGTH], LONGEST)
                row[AWAKE], row[SINCE] = 1.0, at
            else:
                self.end(member, at, row[PAUSE])
                row[PAUSE] *= 2.0
            row[SAVED] = self.lost[member] = 0.0
        self.plan()


cdef class MemberPool:
    """The members, with their leases.

    A subclass has the stack, and in its weights those of today's prediction, members and stack.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        Of what members draw.
    """

    kept = ("at", "boosts", "view", "members", "leases", "moments", "seen")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.at = n_features, n_classes, 0
        self.view = TreeView(n_features)
        self.boosts = boosted.library() is not None
        self.members = [kind(self._columns(m), n_classes, seed) for m, kind in enumerate(KINDS)]
        self.leases = Leases(FIRST_LEASES)
        self._leases, self._losses = self.leases.table, self.leases.lost
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)
        self._allocate()
        self._leave_out()
        self.leases.plan()

    def _allocate(self) -> None:
        """Make room for an example; what was looked at last is forgotten."""
        self._example = np.zeros(self.n_features, np.float32)
        self._standard = np.zeros(self._columns(1))
        self._found = np.zeros((N_MEMBERS, max(1, self.n_classes)))
        self._looked, self._due = False, 0

    def _columns(self, member):
        n = self.view.n_columns if member in TREES else self.n_features
        there = self.n_features <= MOST_COLUMNS[member] and (member != BOOSTED or self.boosts)
        return n if there else 0

    def _leave_out(self) -> None:
        """End the leases of members that have no columns, for good."""
        for m in range(N_MEMBERS):
            if not self._columns(m):
                self.leases.end(m, self.at)

    @property
    def operations(self):
        """What each member costs an example."""
        costs = enumerate(self.members)
        return [each.operations if self._columns(m) else math.inf for m, each in costs]

    @property
    def today_operations(self):
        """What the prediction without members costs an example."""
        return TODAY_OPERATIONS * max(1, self.n_classes - 1)

    def grow(self, n_features: int, n_classes: int, races=()) -> None:
        """Go on with more columns, which were 0 until now, more classes, and races of them."""
        self.n_features, self.n_classes = n_features, n_classes
        self.view.grow(n_features, races)
        for m, member in enumerate(self.members):
            if n := self._columns(m):
                member.grow(n, n_classes)
            else:
                self.members[m] = type(member)(0, n_classes)  # too wide from now on
        self._leave_out()
        before = np.asarray(self.moments)
        self.moments = np.pad(before, ((0, 0), (0, n_features - before.shape[1])))
        self._allocate()

    def standings(self):
        """Return name, weight, lease and microseconds of what predicts, today's prediction first.

        A member without a lease predicts what the live models do, which have its weight.
        """
        awake = self.leases.table[:, AWAKE] > 0.0
        weights = self.weighed()
        weights[0] += weights[1 : 1 + N_MEMBERS][~awake].sum()
        weights[1 : 1 + N_MEMBERS][~awake] = 0.0
        if not awake.any():  # nor has the stack anything to add
            weights = np.eye(len(weights))[0]
        costs = (self.today_operations, *self.operations, math.inf)
        leases = (None, *awake.tolist(), None)
        return [
            {
                "member": name, "weight": weight, "has_lease": lease,
                "us": cost / OPERATIONS if cost < math.inf else None,
            }
            for name, weight, lease, cost in zip(SHOWN, weights.tolist(), leases, costs, strict=True)
        ]

    cdef int answer(self, Row row) except -1:
        """Replace today's prediction of a row by what all say; learn it if it `learns`."""
        self.consult(row)
        return self.count() if row.learns else 0

    cdef int count(self) except -1:
        """Count an example; draw what members draw and review the leases when it is time."""
        self.at += 1
        if self.at >= self._due:
            self._advance()

    def _advance(self) -> None:
        silent = self._silent()
        drawn = [member for member in self._awake() if member.draw()]
        if drawn:
            self._looked = False
        if self.members[BOOSTED] in drawn:  # what they say is new from now on
            self._leases[BOOSTED, SAVED] = self._losses[BOOSTED] = 0.0
        if self.at >= self.leases.due:
            awake = self._awake()
            self.leases.review(self.at, self.operations, self.today_operations)
            for member in self._awake():
                if member not in awake:
                    member.wake()
        for m, (before, now) in enumerate(zip(silent, self._silent(), strict=True)):
            if before and not now:
                self.enter(m)
        left = min([member.left for member in self._awake()], default=2**62)
        self._due = int(min(self.leases.due, self.at + left))

    def fit_ahead(self) -> None:
        """Fit the trees of `ahead`, if boosted trees have a lease."""
        if self._leases[BOOSTED, AWAKE] > 0.0:
            self.members[BOOSTED].fit_ahead()

    @contextmanager
    def ahead(self):
        """Let boosted trees predict by the fit for many rows ahead, if there is one."""
        boosts, now = self.members[BOOSTED], self.members[BOOSTED].trees
        if not boosts.ahead:
            yield
            return
        boosts.trees, self._looked = boosts.ahead, False
        try:
            yield
        finally:
            boosts.trees, self._looked = now, False

    @property
    def missing(self):
        """Why it cannot learn here; an empty text if it can."""
        return boosted.MISSING if self.boosts and boosted.library() is None else ""

    def _awake(self):
        held = zip(self.members, self.leases.table, strict=True)
        return [member for member, row in held if row[AWAKE] > 0.0]

    def _silent(self):
        """Return of each member whether it is said to predict today's prediction."""
        held = zip(self.members, self.leases.table, strict=True)
        return [row[AWAKE] == 0.0 or member.is_silent for member, row in held]

    def enter(self, member: int) -> None:
        """Weigh a member that was silent until now."""

    def fill(self, state) -> None:
        """See `plain.Saved.fill`; boosted trees are there as they were when the model began."""
        # Trees have as many columns as when the model was saved.
        self.view.fill(state["view"])
        if self.boosts != state["boosts"]:
            self.boosts = state["boosts"]
            self.members[BOOSTED] = boosted.BoostedTrees(0, self.n_classes)
        for m in TREES:
            self.members[m].grow(self._columns(m), self.n_classes)
        plain.fill(self, state, self.kept)
        self._looked, self._due = False, 0

    cdef void consult(self, Row row) noexcept:
        """Do `answer` without counting."""


cdef bint _any_awake(MemberPool pool) noexcept nogil:
    """Return whether a member has a lease."""
    return (
        pool._leases[0, AWAKE] > 0.0 or pool._leases[1, AWAKE] > 0.0
        or pool._leases[2, AWAKE] > 0.0 or pool._leases[BOOSTED, AWAKE] > 0.0
    )


cdef void _ask(
    MemberPool pool, const float *example, const double *today, double target, double worth
) noexcept:
    """Let the awake members learn an example, if it has worth, and write what all predict."""
    cdef Py_ssize_t d = pool.n_features, k = pool._found.shape[1], j, m
    cdef double *moments = &pool.moments[0, 0]
    cdef Given given = Given(pool.view.see(example), &pool._standard[0], target, worth, pool._looked)
    # The example standardised by those before.
    if pool._leases[1, AWAKE] > 0.0 or pool._leases[2, AWAKE] > 0.0:
        standardise(example, moments, d, pool.seen[0], &pool._standard[0])
    if worth > 0.0:
        pool.seen[0] += 1.0
        add_moments(example, moments, d, pool.seen[0])
    # Whether what was said of it is there, as nothing was learned since.
    for j in range(d):
        given.again = given.again and pool._example[j] == example[j]
        pool._example[j] = example[j]
    pool._looked = worth <= 0.0
    for m in range(N_MEMBERS):
        awake = pool._leases[m, AWAKE] > 0.0
        for j in range(0 if given.again and awake else k):
            pool._found[m, j] = today[j]
        if awake:
            (<Member>pool.members[m]).take(&given, &pool._found[m, 0])


cdef class NumberPool(MemberPool):
    """Members for numbers, and what they and today's prediction say together.

    Attributes
    ----------
    weights, covariance : ndarray of float64, shapes (4,) and (4, 4)
        Of the stack.
    noise : ndarray of float64, shape (3,)
        Today's squared errors and their number, which forget; and 1 after the first example, which
        shows nothing but where 0 is.
    known : Mixture
        Of the six.
    """

    kept = (*MemberPool.kept, "weights", "covariance", "noise", "known")

    def __init__(self, n_features: int, gamma: float, seed: int = 0) -> None:
        super().__init__(n_features, 0, seed)
        self.weights, self.noise = np.zeros(N_MEMBERS), np.zeros(3)
        self.covariance = _VARIANCE * np.eye(N_MEMBERS)
        self.known = Mixture(0, N_EXPERTS, np.arange(N_EXPERTS), gamma, 0)
        self.known.begin(np.zeros(0, dtype=np.int64))

    def said(self):
        """Return what each member said of the example that was looked at last, shape (4,)."""
        return np.asarray(self._found)[:, 0]

    def weighed(self):
        """Return the weights of the six: in the posterior mean, and next to it in the aggregate."""
        losses, shares = self.known.losses, self.known.aggregated[FIELDS:]
        best = losses.min()
        fall = min(self.known.totals[ETA], 1e300)
        own = exp_all(np.maximum((best - losses) * fall, -700.0))
        own[0] *= PREFERENCE
        return shares[0] * own / own.sum() + shares[1:]

    def enter(self, member: int) -> None:
        """Weigh a member that was silent until now: it has shown nothing, and may be far off."""
        best = self.known.losses.min()
        self.known.losses[1 + member] = best * (1.0 + _ENTRY / max(1.0, self.known.totals[MASS]))

    def notes(self):
        """Return the largest share of what the theorem allows."""
        return {"share_of_members_bound": self.known.totals[SHARE_OF_BOUND]}

    cdef void consult(self, Row row) noexcept:
        cdef double values[N_EXPERTS]
        cdef double today = row.prediction, worth = row.importance if row.learns else 0.0
        # Where none has a lease today's prediction is everyone's, and all six lose alike.
        if not _any_awake(self):
            error = today - <double>row.label
            lost = worth * (error * error)
            self.known._totals[LOST] += lost
            for m in range(N_EXPERTS):
                self.known._scores[m] += lost
            return
        _ask(self, &row.example[0], &today, row.shown, worth)
        # Today's prediction, the members within the range of labels, and their stack.
        values[0] = today
        for m in range(N_MEMBERS):
            values[1 + m] = min(max(self._found[m, 0], row.low), row.high)
        _stack(self, values, row, worth)
        # The mixture of the six.
        row.prediction = self.known.predict(values, row.high - row.low)
        if worth > 0.0:
            self.known.learn(values, 0, row)


cdef void _stack(NumberPool pool, double *values, Row row, double worth) noexcept nogil:
    """Write what the stack says of an example into `values`, before its label is used."""
    cdef double inputs[N_MEMBERS]
    cdef double gain[N_MEMBERS]
    cdef double *weights = &pool.weights[0]
    cdef double *noise = &pool.noise[0]
    cdef double today = values[0], stacked = values[0], total = 0.0, largest = 0.0
    for m in range(N_MEMBERS):
        inputs[m] = values[1 + m] - today
        stacked += weights[m] * inputs[m]
    values[1 + N_MEMBERS] = min(max(stacked, row.low), row.high)
    if worth <= 0.0:
        return
    if noise[2] == 0.0:
        noise[2] = 1.0
        return
    # What a quarter of each member would save today's prediction, in its lease. Boosted trees
    # are there for predictions without past labels too, so they are held against what predicts
    # by the features alone.
    error = today - row.shown
    for m in range(N_MEMBERS):
        own = error
        if m == BOOSTED:
            own = row.values[row.values.shape[0] - N_SIMPLE + RIDGE]
            own = min(max(own, row.low), row.high) - row.shown
        mixed = 0.75 * own + 0.25 * (values[1 + m] - row.shown)
        pool._losses[m] += worth * own * own
        pool._leases[m, SAVED] += worth * (own * own - mixed * mixed)
    # The stack learns by a step of recursive least squares, in units of today's errors. One that
    # is far off makes this step small, and hardly those after it.
    lost, usual = worth * error * error, noise[0] / noise[1] if noise[1] > 0.0 else 0.0
    noise[1] = _FORGETTING * noise[1] + worth
    variance = (_FORGETTING * noise[0] + lost) / noise[1]
    if usual > 0.0:
        lost = min(lost, worth * _FAR * usual)
    noise[0] = _FORGETTING * noise[0] + lost
    if variance <= 0.0:
        return
    for i in range(N_MEMBERS):
        gain[i] = 0.0
        for j in range(N_MEMBERS):
            gain[i] += pool.covariance[i, j] * inputs[j]
        total += gain[i] * inputs[i]
    step = worth / (variance + worth * total)
    away = row.shown - stacked
    for i in range(N_MEMBERS):
        weights[i] += step * gain[i] * away
        for j in range(N_MEMBERS):
            pool.covariance[i, j] -= step * gain[i] * gain[j]
        largest = max(largest, pool.covariance[i, i])
    # It forgets, as far as no variance is beyond what it was at first.
    if largest > 0.0:
        grown = min(1.0 / _FORGETTING, max(_VARIANCE / largest, 1.0))
        for i in range(N_MEMBERS):
            for j in range(N_MEMBERS):
                pool.covariance[i, j] *= grown


cdef class ClassPool(MemberPool):
    """Members for classes, and the probabilities that they and today's prediction give.

    Attributes
    ----------
    weights, curvature : ndarray of float64, shapes (5,) and (5, 5)
        Of the stack.
    bayes : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.bayes`.
    lost : ndarray of float64, shape (8,)
        The log loss of each expert and of the average, and the largest excess at any time of the
        latter over that of the best expert.
    came : ndarray of float64, shape (n_classes,)
        1 for each class that came.
    """

    kept = (*MemberPool.kept, "weights", "curvature", "bayes", "lost", "came")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        self.weights = np.eye(N_STACKED)[0].copy()
        self.curvature = PRIOR * np.eye(N_STACKED)
        self.bayes = new_weights(N_EXPERTS)
        self.lost = np.zeros(N_EXPERTS + 2)
        self.came = np.zeros(n_classes)

    def _allocate(self) -> None:
        super()._allocate()
        k = max(1, self.n_classes)
        self._logs, self._experts = np.zeros(N_STACKED * k), np.zeros(N_EXPERTS * k)
        self._shown = np.zeros(N_EXPERTS)

    def grow(self, n_features: int, n_classes: int, races=()) -> None:
        """See `MemberPool.grow`."""
        self.came = np.pad(self.came, (0, n_classes - self.n_classes))
        super().grow(n_features, n_classes, races)

    def weighed(self):
        """Return the weights of the six."""
        return np.array(self.bayes[1:])

    def notes(self):
        """Return the most nats that were lost above the best expert."""
        return {"nats_over_best_member": self.lost[N_EXPERTS + 1]}

    cdef void consult(self, Row row) noexcept:
        """Do `MemberPool.answer` with log odds of the second of two classes."""
        cdef double today[2]
        cdef double found[2]
        today[1] = 1.0 / (1.0 + exp(-<double>row.prediction))
        today[0] = 1.0 - today[1]
        self.take(
            today, &row.example[0], row.label > 0.0, row.importance if row.learns else 0.0, found
        )
        row.prediction = <float>log(found[1] / found[0])

    cdef void take(
        self, const double *today, const float *example, Py_ssize_t number, double worth,
        double *found,
    ) noexcept:
        """Write the average of today's prediction, members and their stack; learn the class."""
        cdef Py_ssize_t k = self.n_classes, j, m
        cdef double least = LEAST / k
        cdef double *logs = &self._logs[0]
        cdef double *experts = &self._experts[0]
        cdef double *stacked = experts + N_STACKED * k
        cdef bint awake = _any_awake(self)
        # The five that are stacked, bounded from below, and their stack; then the average of the
        # six. Where none has a lease today's prediction is everyone's.
        if awake:
            _ask(self, example, today, number, worth)
            for m in range(N_STACKED):
                for j in range(k):
                    experts[m * k + j] = today[j] if m == 0 else self._found[m - 1, j]
                bayes.scale(experts + m * k, k, least)
                for j in range(k):
                    logs[m * k + j] = log(experts[m * k + j])
            pool_logs(logs, &self.weights[0], N_STACKED, k, stacked)
            bayes.scale(stacked, k, least)
            add_up(&self.bayes[1], experts, N_EXPERTS, k, found)
        else:
            for j in range(k):
                found[j] = today[j]
            bayes.scale(found, k, least)
        if worth <= 0.0:
            return
        if self.came[number] == 0.0:
            self.came[number] = 1.0
            return
        if not awake:
            for m in range(N_EXPERTS + 1):
                self.lost[m] -= min(worth, 1.0) * log(found[number])
            return
        # The stack learns; what a quarter of each member would save today's prediction is in its
        # lease; and Bayes' rule learns by what each said of the class that came.
        step_pool(
            logs, stacked, N_STACKED, k, number, worth, &self.weights[0], &self.curvature[0, 0]
        )
        for m in range(N_EXPERTS):
            self._shown[m] = experts[m * k + number]
        worth = min(worth, 1.0)
        for m in range(N_MEMBERS):
            self._losses[m] -= worth * log(self._shown[0])
            saved = log(0.75 + 0.25 * self._shown[1 + m] / self._shown[0])
            self._leases[m, SAVED] += worth * saved
        bayes.learn(self._shown, worth, self.bayes, self.lost, N_EXPERTS)
