"""The prediction of many live models: a posterior mean that forgets, kept near the baselines.

Each live model is a hypothesis "the label is Gaussian around my prediction". With the noise
variance σ² estimated by the best model's recent loss, its posterior weight is

    w_c ∝ π_c exp(-(L_c - L_best) / (2 σ²)),   σ² = L_best / N,

where L_c discounts c's squared losses by γ an example and N is their number, discounted alike. Of
the first examples they are discounted faster, so that the loss of example s counts (s / t)² after
t: what a model lost before it knew anything says little about the next example. Priors π_c are
equal, but for the simplest, which has `PREFERENCE` times that of others: among models that explain the
past equally well it is preferred, and a line goes on as a line beyond the examples. σ is at least
`_ALIKE` of the range of labels, below which errors do not distinguish models.

This is dynamic model averaging [1]_. Without forgetting it is the exponentially weighted
predictor, whose regret to the best live model is at most ln(b) / η as long as squared loss is
η-exp-concave there, η ≤ 1 / (2 max (p - y)²) [2]_; σ² in the place of the maximum reacts
faster. What bounds the loss is that this mean is not the prediction, but the first of a few
experts that are averaged (below); others are
baselines.

**Aggregate:** a prediction that stays near the best of a few others, in the long run and over every interval.

K experts predict p_t(k), clipped to a range [l_t, h_t] that is known before the label y_t. They
are weighted, at first by π: the first expert, which is expected to be the best, has most, and the
others share the rest. The aggregate is a_t = Σ_k w_t(k) p_t(k), w_1 = π. After the label, with
ỹ_t in [l_t, h_t] the label as learners see it (`leaseboard.algorithms.online_automl.safe.scale`),

    v_t(k) ∝ w_t(k) exp(-(p_t(k) - ỹ_t)² / 2M),     w_{t+1}(k) = (1 - α_t) v_t(k) + α_t π(k),

where M is the largest (p_s(k) - ỹ_s)² so far, rounded up to M_0 4^j, with M_0 the first that is
positive. An example on which j rises changes no weight but for the unit: w(k) becomes proportional
to π(k) (w(k) / π(k))^(M_before / M). α_t = 1 / ((t + 2) ln²(t + 2)), whose sum is finite:
A = Σ ln 1 / (1 - α_t) < 1.6.

**Theorem.** For every sequence of labels and every expert k, with W_t = h_t - l_t,

    Σ_{t≤T} (a_t - y_t)² ≤ Σ_{t≤T} (p_t(k) - y_t)² + 2 M (ln 1 / π(k) + A) + (4/3) M
                           + Σ (2 W_t |y_t - ỹ_t| + (y_t - ỹ_t)²),

and over an interval r ≤ t ≤ s in which j does not rise the same with 2 M (ln 1 / (α_r π(k)) + A)
in the place of the terms with M. Experts that were not clipped are better by the last sum at
most.

*Proof.* p ↦ exp(-(p - ỹ)² / 2M) is concave where (p - ỹ)² ≤ M. By Jensen, with ℓ_t the squared
loss to ỹ_t and η = 1 / 2M,

    exp(-η ℓ_t(a_t)) ≥ Σ_k w_t(k) exp(-η ℓ_t(p_t(k))) = w_t(k) exp(-η ℓ_t(p_t(k))) / v_t(k)

for each k. So with Φ_t(k) = -(1/η) ln(w_t(k) / π(k)), and w_{t+1} ≥ (1 - α_t) v_t,

    ℓ_t(a_t) - ℓ_t(p_t(k)) ≤ (ln v_t(k) - ln w_t(k)) / η
                           ≤ Φ_t(k) - Φ_{t+1}(k) + 2M ln 1 / (1 - α_t).

Where η falls to qη, w'(k) = π(k) (w(k) / π(k))^q / Z with Z = Σ π (w / π)^q ≤ (Σ w)^q = 1, again
by Jensen, so no Φ(k) rises. The sum telescopes: Φ_1 = 0, and -Φ ≤ 2M ln 1 / π(k) as w ≤ 1;
Φ_r(k) ≤ 2M ln 1 / α_r as w_r ≥ α_r π(k). An example on which j rises costs at most the new M, and
M 4^-i adds up to 4/3 M. Back to y_t: with e = y_t - ỹ_t, (a - y)² - (p - y)² = ℓ(a) - ℓ(p) +
2 (p - a) e, and |p - a| ≤ W. An expert's own prediction that was clipped may be nearer to a label
outside of the range, by e² at most, as ỹ is within; to one in the range it is not nearer. ∎

How ỹ_t is chosen is not used. The theorem is on losses to the raw labels, those beyond the
range included; the weights are made of losses to the labels as learners see them.

An expert that joins at time r gets w_r = π' of it, with π' and the constant those of K + 1, and
the weights of the others are multiplied by 1 - π'. Against the others the bound then has π' in
the place of π and 2 M ln 1 / (1 - π') more; against the one that joined it is the bound above over
r ≤ t ≤ T. *Proof.* π' ≤ π for each of the others, so no Φ(k) rises by more than that; of the one
that joined Φ_r = 0. ∎

Where examples have importances, all losses are multiplied by theirs, here as there: nothing in the
proof changes.

A prediction is a float32: what it loses more than the exact average is added as it comes.

Averages by fixed share are Herbster and Warmuth's [3]_; shares that decrease make the bound over
the whole stream a constant [4]_.

**Paired tests:** better and Worse on a common window: tests of the difference of two models' losses.

The paper compares each model's own progressive loss, over the examples that it happened to see,
and bounds each by √(d log(n|S|/δ) / n). Two models that started at different times are then
compared on different examples, which misleads under drift, and differences far below the noise
of the labels drown in it. Here a challenger starts as a copy of the champion, and what counts is

    D_i = l(champion, i) - l(challenger, i)   on the same examples i = 1, ..., n since then,

in squared loss, which the environment scores. For independent D_i that are symmetric around 0,
with any scale and tails, and for every z [5]_

    P( Σ D_i ≥ z √(Σ D_i²) ) ≤ exp(-z²/2).

A union over the |S| challengers and over all looks m = 1, 2, ... with shares 1 / (m (m + 1))
gives `critical_value`: a challenger that is as good as its champion is taken for better with
probability at most δ in a champion's time. Models that learn make the D_i depend on each other,
so this is a guide, as the paper's bound is; what the predictions may lose rests on the aggregate
alone.

References
----------
.. [1] Raftery, Karny, Ettler. Online prediction under model uncertainty via dynamic model
       averaging. Technometrics 52, 2010. https://doi.org/10.1198/TECH.2009.08104
.. [2] Cesa-Bianchi, Lugosi. Prediction, learning, and games. 2006, section 3.3.
.. [3] Herbster, Warmuth. Tracking the best expert. Machine Learning 32, 1998.
.. [4] Hazan, Seshadhri. Efficient learning algorithms for changing environments. ICML 2009.
.. [5] Efron. Student's t-test under symmetry conditions. Journal of the American Statistical
       Association 64, 1969: given the |D_i|, the signs are fair coins, so Hoeffding's inequality
       applies to Σ D_i.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

import numpy as np

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.safe.expansion cimport MEAN_SO_FAR

cpdef enum:
    BASE = 0  # the slot and the number of the initial configuration, which is always live

PREFERENCE = 20.0
"""How many times the prior of another model the simplest one has."""

cdef double _PREFERENCE = PREFERENCE

cdef double _ALIKE = 3e-4
"""Share of the range of labels below which errors do not distinguish models."""

FIRST_SHARE = 0.98
"""π of the first expert."""

SHARES = _SHARES
"""An upper bound of A."""

cdef double _FIRST_SHARE = FIRST_SHARE


def new_aggregate(Py_ssize_t n_experts):
    """Return the state of an aggregate that has seen nothing: three fields, then the weights π.

    The fields are M, t, and what the theorem allows so far, against any expert but the first.
    """
    return np.array([0.0, 0.0, 0.0, *(prior(k, n_experts) for k in range(n_experts))])


cpdef double prior(Py_ssize_t k, Py_ssize_t n_experts) noexcept nogil:
    """Return π(k).

    Examples
    --------
    >>> [round(prior(k, 6), 3) for k in range(6)]
    [0.98, 0.004, 0.004, 0.004, 0.004, 0.004]
    """
    return _FIRST_SHARE if k == 0 else (1.0 - _FIRST_SHARE) / (n_experts - 1)


def join(state):
    """Return the state with one more expert, the last.

    Examples
    --------
    >>> join(new_aggregate(2))[3:].round(4).tolist()
    [0.9702, 0.0198, 0.01]
    """
    cdef Py_ssize_t n = len(state) - FIELDS
    cdef double begun = prior(n, n + 1)
    grown = np.concatenate((state[:FIELDS], (1.0 - begun) * state[FIELDS:], [begun]))
    grown[ALLOWED] += 2.0 * state[LARGEST] * log(prior(n - 1, n) / begun / (1.0 - begun))
    return grown


cpdef double share(double since) noexcept nogil:
    """Return α_t.

    Examples
    --------
    >>> import math
    >>> round(share(1.0), 4)
    0.2762
    >>> tail = 1 / math.log(1e4)  # the integral from there on
    >>> bool(sum(-math.log(1 - share(float(t))) for t in range(1, 10000)) + tail < SHARES)
    True
    """
    logarithm = log(since + 2.0)
    return 1.0 / ((since + 2.0) * (logarithm * logarithm))


cpdef double aggregate(const double[::1] predictions, const double[::1] state) noexcept nogil:
    """Return a_t, the experts' average by their weights.

    Parameters
    ----------
    predictions : ndarray of float64, shape (n_experts,)
        Within the range.
    state : ndarray of float64

    Examples
    --------
    >>> round(aggregate(np.array([1.0, 2.0, 6.0]), new_aggregate(3)), 6)
    1.06
    """
    cdef double total = 0.0
    for k in range(predictions.shape[0]):
        total += state[FIELDS + k] * predictions[k]
    return total


cpdef void weigh(
    const double[::1] predictions, double label, double shown, double width, double[::1] state,
    double importance=1.0,
) noexcept nogil:
    """Learn a label: y_t, ỹ_t and W_t.

    Examples
    --------
    >>> state = new_aggregate(2)
    >>> weigh(np.array([4.0, 0.0]), 0.0, 0.0, 4.0, state)
    >>> weigh(np.array([4.0, 0.0]), 0.0, 0.0, 4.0, state)
    >>> state[3:].round(4).tolist()  # .98 e^(-1/2) to .02, then a share of .2762
    [0.9709, 0.0291]
    """
    cdef Py_ssize_t n = predictions.shape[0]
    cdef double *weights = &state[FIELDS]
    cdef double least = INFINITY, largest = 0.0, total = 0.0
    per_unit = 2.0 * (_SHARES - log(prior(n - 1, n)))
    # Experts that were not clipped may be better by this.
    beyond = fabs(label - shown)
    state[ALLOWED] += importance * (2.0 * width * beyond + beyond * beyond)
    for k in range(n):
        loss = importance * ((predictions[k] - shown) * (predictions[k] - shown))
        least, largest = min(least, loss), max(largest, loss)
    # A loss that is larger than all before changes the unit, and levels the weights.
    if largest > state[LARGEST]:
        before = state[LARGEST]
        if before == 0.0:
            before = state[LARGEST] = largest
            state[ALLOWED] += per_unit * largest
        while state[LARGEST] < largest:
            state[LARGEST] *= 4.0
        state[ALLOWED] += per_unit * (state[LARGEST] - before) + state[LARGEST]
        for k in range(n):
            begun = prior(k, n)
            weights[k] = begun * exp(before / state[LARGEST] * log(weights[k] / begun))
            total += weights[k]
        for k in range(n):
            weights[k] /= total
        return
    if largest == 0.0:
        return
    # Else each weight follows its loss, and all share a little.
    state[SINCE] += 1.0
    for k in range(n):
        loss = importance * ((predictions[k] - shown) * (predictions[k] - shown))
        weights[k] *= exp(-0.5 * (loss - least) / state[LARGEST])
        total += weights[k]
    alpha = share(state[SINCE])
    for k in range(n):
        weights[k] = (1.0 - alpha) * weights[k] / total + alpha * prior(k, n)


cdef class Mixture(Buffers):
    """State of the slots, those of models first and those of simple models after them.

    Parameters
    ----------
    b, n_slots : int
        Slots of models, and of all.
    baselines : ndarray of int64
        Slots of what the prediction must stay near.
    gamma : float
        What a loss is worth one example later.
    simplest : int
        The slot that is preferred among equals; it always predicts.

    Attributes
    ----------
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    totals : ndarray of float64, shape (N_TOTALS,)
        N of the module's formula, the examples, what all lost on the first, where all predict 0;
        from there on what the predictions lost, and the largest share of what the best baseline's
        loss and the theorem's constant allow that this ever was; and 1 / 2 σ² of the last one.
    scores : ndarray of float64, shape (n_slots,)
        Sums of squared loss.
    sums : ndarray of float64, shape (n_slots, 4)
        Of D, of D², of the model's own loss and of its square, where D is the champion's loss
        minus the model's on one example, over the window that both have in common.
    aggregated : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.mixture`.
    place : ndarray of float64, shape (2,)
        Models learn labels less the first and over the second; 0 while all labels are equal.
    untrained : ndarray of bool, shape (n_slots,)
        Models that have learned nothing yet: they take their losses, but have no weight.
    """

    def __init__(
        self, Py_ssize_t b, Py_ssize_t n_slots, baselines, double gamma, Py_ssize_t simplest
    ):
        self.b, self.n_slots, self.gamma, self.simplest = b, n_slots, gamma, simplest
        super().__init__(
            losses=np.zeros(n_slots),
            totals=np.zeros(N_TOTALS),
            scores=np.zeros(n_slots),
            sums=np.zeros((n_slots, 4)),
            aggregated=new_aggregate(1 + len(baselines)),
            place=np.zeros(2),
            untrained=np.zeros(n_slots, dtype=np.uint8),
        )
        self.mixed, self.weighed = np.zeros((2, n_slots), dtype=np.int64)
        self.shares = np.zeros(n_slots)
        self._protect(baselines)

    def _protect(self, baselines):
        self.baselines, self.experts = baselines, np.zeros(1 + len(baselines))

    def join(self, slot):
        """Let one slot more be a baseline: what it lost before is what the prediction has lost."""
        self._protect(np.append(self.baselines, slot))
        self.put(aggregated=join(self.aggregated))
        self._scores[<Py_ssize_t>slot] = self._totals[LOST] + self._totals[FIRST]

    cpdef void begin(self, const int64_t[::1] live) noexcept:
        cdef Py_ssize_t n_live = live.shape[0], k, slot
        # A model that has learned nothing has no weight on its first example.
        self.n_mixed, self.n_weighed = n_live + self.n_slots - self.b, 0
        for k in range(self.n_mixed):
            slot = self.mixed[k] = live[k] if k < n_live else self.b + k - n_live
            if not self._untrained[slot]:
                self.weighed[self.n_weighed] = slot
                self.n_weighed += 1

    cdef float predict(self, const double *values, double width) noexcept nogil:
        cdef Py_ssize_t k, n = self.n_weighed
        cdef double noise = _ALIKE * width, eta = learning_rate(
            &self.weighed[0], n, &self._losses[0], self._totals[MASS]
        )
        # The posterior mean is the first expert, the baselines are the others. The slots from b on
        # are the last that are weighed.
        if noise > 0.0:
            eta = min(eta, 0.5 / (noise * noise))
        self._totals[ETA] = eta
        self.experts[0] = mean_of(
            values, &self.weighed[0], n, &self._losses[0], eta, &self.shares[0],
            n - self.n_slots + self.simplest, _PREFERENCE,
        )
        for k in range(self.baselines.shape[0]):
            self.experts[1 + k] = values[self.baselines[k]]
        self.exact = aggregate(self.experts, self._aggregated)
        return <float>self.exact

    cdef void learn(self, const double *values, Py_ssize_t champion, Row row) noexcept nogil:
        cdef double *totals = &self._totals[0]
        cdef double gamma = worth_later(self.gamma, totals[COUNT]), standard, loss, difference, lost, best = INFINITY, allowed
        cdef double label = row.label, importance = row.importance, shown = row.shown
        # Before the first label all predict 0: what that loses shows nothing but where 0 is.
        cdef bint first = totals[COUNT] == 0.0
        if first:
            shown = 0.0
        totals[MASS] = gamma * totals[MASS] + importance
        totals[COUNT] += 1.0
        if self.n_weighed < self.n_mixed:
            self.n_weighed = self.n_mixed
            for k in range(self.n_slots):
                self.weighed[k], self._untrained[k] = self.mixed[k], False
        # Take the losses, and their differences from the champion's.
        standard = importance * _square(values[champion] - shown)
        for k in range(self.n_mixed):
            slot = self.mixed[k]
            loss = importance * _square(values[slot] - shown)
            self._losses[slot] = gamma * self._losses[slot] + loss
            difference, sums = standard - loss, &self._sums[slot, 0]
            sums[ADVANTAGE] += difference
            sums[SQUARES] += difference * difference
            sums[LOSS] += loss
            sums[LOSS_SQUARES] += loss * loss
            self._scores[slot] += importance * _square(values[slot] - label)
        if first:
            totals[FIRST] = importance * label * label
            return
        # Weigh the experts; the first three labels are shown even beyond the range.
        weigh(
            self.experts, label, min(max(shown, row.low), row.high), row.high - row.low,
            self._aggregated, importance,
        )
        # Hold what was lost against what the theorem allows.
        lost = importance * _square(row.prediction - label)
        self._aggregated[ALLOWED] += max(0.0, lost - importance * _square(self.exact - label))
        totals[LOST] += lost
        for k in range(self.baselines.shape[0]):
            best = min(best, self._scores[self.baselines[k]] - totals[FIRST])
        allowed = best + self._aggregated[ALLOWED]
        if allowed > 0.0:
            totals[SHARE_OF_BOUND] = max(totals[SHARE_OF_BOUND], totals[LOST] / allowed)

    cpdef void mix(self, Row row) noexcept:
        """Predict by the models' outputs, before the label is used; learn it if the row does."""
        cdef double center = self._place[0], spread = self._place[1], value
        cdef double *values = &row.values[0]
        # What the models predict in the labels' own unit and range: their mean while all are
        # equal.
        for k in range(row.live.shape[0]):
            slot, value = row.live[k], values[self.b + MEAN_SO_FAR]
            if spread != 0.0:
                value = center + spread * row.outputs[slot]
                value = min(max(value, row.low), row.high)
            values[slot] = value
        row.prediction = self.predict(values, row.high - row.low)
        if row.learns and row.importance > 0.0:
            self.learn(values, row.champion, row)


cdef inline double _square(double x) noexcept nogil:
    return x * x


cdef double learning_rate(
    const int64_t *live, Py_ssize_t n, const double *losses, double mass
) noexcept nogil:
    """Return η = 1 / (2 σ²), so that the weight of a model is exp(-η (L_c - L_best))."""
    cdef double best = INFINITY
    for k in range(n):
        best = min(best, losses[live[k]])
    return 0.5 * mass / best if best > 0.0 else INFINITY


cdef double mean_of(
    const double *outputs, const int64_t *live, Py_ssize_t n, const double *losses, double eta,
    double *shares, Py_ssize_t simplest, double prior,
) noexcept nogil:
    cdef double best = INFINITY, total = 0.0, mean = 0.0, share
    # The least loss, by which no weight overflows.
    for k in range(n):
        best = min(best, losses[live[k]])
    # Weights that fall with the excess over it: a loop that is vectorised; then the mean.
    for k in range(n):
        shares[k] = losses[live[k]] - best
    for k in range(n):
        share = exp(-eta * shares[k])
        shares[k] = share if shares[k] > 0.0 else 1.0
    shares[simplest] *= prior
    for k in range(n):
        total += shares[k]
        mean += shares[k] * outputs[live[k]]
    return mean / total


def posterior_mean(
    const double[::1] outputs, const int64_t[::1] live, const double[::1] losses, double mass
):
    """Return the average of the live models' predictions by their posterior weights.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_slots,)
    live : ndarray of int64, shape (n_live,)
        The occupied slots.
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    mass : float
        Their number, N. Where the best loss is 0 no noise is left to excuse an error: the models
        of least loss share all weight.

    Examples
    --------
    >>> outputs, live = np.array([0.0, 1.0]), np.arange(2)
    >>> posterior_mean(outputs, live, np.array([1.0, 1.0]), 10.0)
    0.5
    >>> round(posterior_mean(outputs, live, np.array([1.0, 1.2]), 10.0), 4)
    0.2689
    >>> posterior_mean(outputs, live, np.array([1.0, 0.0]), 10.0)
    1.0
    """
    cdef double[::1] shares = np.empty(live.shape[0])
    eta = learning_rate(&live[0], live.shape[0], &losses[0], mass)
    return mean_of(
        &outputs[0], &live[0], live.shape[0], &losses[0], eta, &shares[0], 0, 1.0
    )


cpdef double critical_value(int64_t challengers, int64_t looks, double delta) noexcept nogil:
    """Return z: the number of root sums of squares that proves a difference.

    Parameters
    ----------
    challengers : int
        |S|, how many are compared with the champion.
    looks : int
        m, how often the challenger has been looked at, this time included.
    delta : float
        Probability of a false proof during one champion's time.

    Examples
    --------
    >>> round(critical_value(50, 1, 0.1), 4), round(critical_value(50, 10, 0.1), 4)
    (3.7169, 4.6723)
    """
    return sqrt(2.0 * log(challengers * looks * (looks + 1) / delta))


cpdef int64_t looks_at(int64_t seen, int64_t length) noexcept nogil:
    """Return m after so many examples of a window."""
    return max((seen + length - 1) // length, 1)


def judge(
    const double[:, ::1] sums, list starts, list leases, const int64_t[::1] live,
    Py_ssize_t champion, int64_t at, int64_t challengers, int64_t length, double delta,
    Py_ssize_t most,
):
    """Return the slots of challengers that are better or worse than the champion, and ended leases.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        Over the window of each slot, see
        `leaseboard.algorithms.online_automl.safe.mixture.Mixture`.
    starts, leases : list of int
        The example before which each window begins, and in examples from there on the lease.
    live : ndarray of int64
        The occupied slots.
    champion, at : int
        Its slot, and the examples learned.
    challengers, delta
        See `critical_value`.
    length : int
        Of a round, at whose end one looks, in examples.
    most : int
        How many may be found worse; the first ones are.

    Returns
    -------
    best : int
        The best challenger that is proved better, or -1.
    worse : list of int
        Those that are proved worse.
    ended : dict of int to bool
        Of all others whose lease has ended, whether they gained less on the champion than most.
    """
    cdef list worse = [], ended = [], gains = []
    cdef Py_ssize_t best = -1, k, slot
    cdef double edge, gain, advantage, largest = 0.0, middle = -INFINITY
    for k in range(live.shape[0]):
        slot = live[k]
        # The tests of the champion's loss minus the challenger's, and of its opposite.
        seen, advantage = at - <int64_t>starts[slot], sums[slot, ADVANTAGE]
        edge = critical_value(challengers, looks_at(seen, length), delta)
        edge, gain = edge * sqrt(sums[slot, SQUARES]), advantage / seen
        if slot != champion and advantage > edge and (best < 0 or gain > largest):
            best, largest = slot, gain
        if slot == champion or slot == BASE:  # which keep their slots
            gain = INFINITY
        elif -advantage > edge and len(worse) < most:
            worse.append(slot)
            continue
        else:
            gains.append(gain)
        if seen >= <int64_t>leases[slot]:
            ended.append((slot, gain))
    if gains:
        gains.sort()
        middle = (gains[(len(gains) - 1) // 2] + gains[len(gains) // 2]) / 2.0
    return best, worse, {slot: gain < middle for slot, gain in ended}
