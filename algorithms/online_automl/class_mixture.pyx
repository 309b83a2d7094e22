"""Chances of three and more classes: those of races, of softmax regressions, and their pool.

Examples that come one at a time are predicted and learned by all races, then the mixture and the
members (`leaseboard.algorithms.online_automl.one_vs_rest`), with what `SafeRace.single_calls` does
for one race: what a prediction has computed is not computed again when its label comes.
"""

import sys

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.log_pool cimport add_up, pool_logs, soften, step_pool
from leaseboard.algorithms.online_automl.members.class_pool cimport ClassPool
from leaseboard.algorithms.online_automl.members.member cimport Chunk
from leaseboard.algorithms.online_automl.safe cimport bayes
from leaseboard.algorithms.online_automl.safe.passes cimport OneExample
from leaseboard.algorithms.reference.ridge_steps cimport add_moments, standardise

from leaseboard.algorithms.online_automl.log_pool import PRIOR
from leaseboard.algorithms.online_automl.safe.bayes import new_weights
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace

cpdef enum:
    N_POOLED = 3  # the races and the softmax regressions
    N_EXPERTS = 6  # their pool, the classes' frequencies, and those after the class before


cdef class OnlineSoftmax:
    """Multinomial logistic regression [1]_ that learns each example once, by AdaGrad [2]_.

    Features are standardised by the mean and deviation of the rows before and clipped at ±10
    (`leaseboard.algorithms.reference.ridge_steps`), so their scales do not matter.

    Parameters
    ----------
    n_features, n_classes : int
    rate : float
        A weight's first step, in units of its logit.

    Attributes
    ----------
    weights, squares : ndarray of float64, shape (n_classes, 1 + n_features)
        The constant's first; and the sums of the squares of their gradients.
    moments : ndarray of float64, shape (2, n_features)
        Of the features.
    seen : ndarray of float64, shape (1,)
        Examples learned.

    References
    ----------
    .. [1] Bishop. Pattern recognition and machine learning. 2006, section 4.3.4.
    .. [2] Duchi, Hazan, Singer. Adaptive subgradient methods. JMLR 12, 2011.

    Examples
    --------
    >>> model = OnlineSoftmax(n_features=1, n_classes=3, rate=0.3)
    >>> numbers = np.arange(300) % 3
    >>> found = model.learn(np.float32(numbers)[:, None], numbers, np.ones(300, np.float32))
    >>> model.predict(np.array([2], np.float32)).argmax()
    np.int64(2)
    """

    kept = "weights", "squares", "moments", "seen"

    cdef public double rate
    cdef public double[:, ::1] weights, squares, moments
    cdef public double[::1] seen
    cdef double[::1] _row, _said

    def __init__(self, n_features: int, n_classes: int, rate: float) -> None:
        self.rate = rate
        self.weights, self.squares = np.zeros((2, n_classes, 1 + n_features))
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)
        self._row, self._said = np.ones(1 + n_features), np.zeros(n_classes)

    def predict(self, const float[::1] example):
        """Return the probabilities of the classes, shape (n_classes,); nothing is learned."""
        self.ask(&example[0])
        return np.array(self._said)

    def learn(
        self, const float[:, ::1] examples, const int64_t[::1] classes,
        const float[::1] importances,
    ):
        """Learn a block; return progressive probabilities, shape (n, n_classes).

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
            What gradients are multiplied by; at most 1 counts.
        """
        cdef double[:, ::1] found = np.empty((len(classes), len(self.weights)))
        for t in range(len(classes)):
            self.ask(&examples[t, 0])
            for k in range(found.shape[1]):
                found[t, k] = self._said[k]
            self.step(&examples[t, 0], classes[t], importances[t])
        return np.asarray(found)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        before = {name: np.asarray(getattr(self, name)) for name in self.kept}
        self.__init__(n_features, n_classes, self.rate)
        for name, old in before.items():
            np.asarray(getattr(self, name))[tuple([slice(n) for n in old.shape])] = old

    cdef void ask(self, const float *example) noexcept nogil:
        """Write the standardised row, after its constant, and the probabilities."""
        cdef Py_ssize_t n_classes = self.weights.shape[0], n = self.weights.shape[1], k, j
        cdef const double *weights = &self.weights[0, 0]
        cdef double *row = &self._row[0]
        cdef double *said = &self._said[0]
        # Logits of the standardised features.
        standardise(example, &self.moments[0, 0], n - 1, self.seen[0], row + 1)
        for k in range(n_classes):
            logit = 0.0
            for j in range(n):
                logit += weights[j] * row[j]
            said[k] = logit
            weights += n
        soften(said, said, n_classes)

    cdef void step(self, const float *example, Py_ssize_t number, double importance) noexcept nogil:
        """Learn the example of `ask`, whose class is `number`."""
        cdef Py_ssize_t n = self.weights.shape[1], k, j
        cdef double *weights = &self.weights[0, 0]
        cdef double *squares = &self.squares[0, 0]
        cdef const double *row = &self._row[0]
        cdef double rate = self.rate
        # A step of AdaGrad on each weight of each class.
        importance = min(importance, 1.0)
        for k in range(self.weights.shape[0]):
            error = importance * (self._said[k] - (1.0 if k == number else 0.0))
            for j in range(n):
                gradient = error * row[j]
                squares[j] += gradient * gradient
                step = rate * gradient / sqrt(squares[j])
                weights[j] -= step if squares[j] > 0.0 else 0.0
            weights += n
            squares += n
        # Then the moments of the features, for the next example.
        self.seen[0] += 1.0
        add_moments(example, &self.moments[0, 0], n - 1, self.seen[0])


RATES = (0.1, 0.3)
"""Of the softmax regressions."""

cdef double _LEAST = 1e-3
"""No expert but frequencies gives a class less than this, divided by the number of classes."""


cdef class ClassMixture:
    """An average of experts by Bayes' rule (`leaseboard.algorithms.online_automl.safe.bayes`).

    A race of each class against the rest knows what its own models found; a softmax regression
    weighs all classes at once, and is a naive baseline; a logarithmic pool of them (`step_pool`)
    is calibrated and mostly the best.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    n_classes : int
    last : int
        The class that came last; -1 before there is one.
    counts : ndarray of float64, shape (1 + n_classes, n_classes)
        How often each class came, at all and after each other.
    """

    kept = "last", "bayes", "counts", "regressions", "weights", "curvature"

    cdef readonly Py_ssize_t n_classes
    cdef public Py_ssize_t last
    cdef public double[::1] bayes, weights
    cdef public double[:, ::1] counts, curvature
    cdef public list regressions
    cdef OnlineSoftmax _first, _second
    cdef double[::1] _logs, _experts, _pooled, _shown, _lost

    def __init__(self, n_features: int) -> None:
        self.last = -1
        self.bayes = new_weights(N_EXPERTS)
        self.regressions = [OnlineSoftmax(n_features, 0, rate) for rate in RATES]
        self._first, self._second = self.regressions
        self.weights, self.curvature = np.eye(N_POOLED)[0].copy(), PRIOR * np.eye(N_POOLED)
        self.counts, self._shown = np.zeros((1, 0)), np.zeros(N_EXPERTS)
        self._lost = np.zeros(N_EXPERTS + 2)
        self.grow(n_features, 0)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        before, counts = np.asarray(self.counts), np.zeros((1 + n_classes, n_classes))
        counts[: before.shape[0], : before.shape[1]] = before
        self.n_classes, self.counts = n_classes, counts
        for regression in self.regressions:
            regression.grow(n_features, n_classes)
        self._logs, self._pooled = np.zeros(N_POOLED * n_classes), np.zeros(n_classes)
        self._experts = np.zeros(N_EXPERTS * n_classes)

    def probabilities(self, const double[::1] own, const float[::1] example):
        """Return the average; nothing is learned.

        Parameters
        ----------
        own : ndarray of float64, shape (n_classes,)
            The races' probabilities.
        example : ndarray of float32, shape (n_features,)
        """
        cdef double[::1] found = np.empty(self.n_classes)
        self.take(&own[0], &example[0], 0, 0.0, False, &found[0])
        return np.asarray(found)

    def learn(
        self, const double[:, ::1] own, const float[:, ::1] examples, const int64_t[::1] classes,
        const float[::1] importances,
    ):
        """Learn a block; return its progressive `probabilities`.

        Parameters
        ----------
        own : ndarray of float64, shape (n, n_classes)
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
        """
        cdef double[:, ::1] found = np.empty((len(own), self.n_classes))
        for t in range(own.shape[0]):
            self.take(&own[t, 0], &examples[t, 0], classes[t], importances[t], True, &found[t, 0])
        return np.asarray(found)

    def train(self, examples, classes, importances) -> None:
        """Let the regressions alone learn."""
        for one in self.regressions:
            one.learn(examples, classes, importances)

    def count(self, const int64_t[::1] classes, const float[::1] importances) -> None:
        """Let the frequencies alone learn."""
        for t in range(len(classes)):
            self.count_class(classes[t], importances[t])

    cpdef void count_class(self, Py_ssize_t number, double importance) noexcept:
        """Let the frequencies alone learn one class."""
        self.counts[0, number] += importance
        if self.last >= 0:
            self.counts[1 + self.last, number] += importance
        self.last = number

    cdef void take(
        self, const double *own, const float *example, Py_ssize_t number, double importance,
        bint learns, double *found,
    ) noexcept:
        """Write the experts' average of an example; then, if it `learns`, learn its class."""
        cdef Py_ssize_t n_classes = self.n_classes, m
        cdef double *logs = &self._logs[0]
        cdef double *experts = &self._experts[0]
        cdef double *pooled = &self._pooled[0]
        # What is pooled: the races and the regressions.
        self._first.ask(example)
        self._second.ask(example)
        for j in range(n_classes):
            experts[j] = own[j]
            experts[n_classes + j] = self._first._said[j]
            experts[2 * n_classes + j] = self._second._said[j]
        for m in range(N_POOLED):
            bayes.scale(experts + m * n_classes, n_classes, _LEAST / n_classes)
        for j in range(N_POOLED * n_classes):
            logs[j] = log(experts[j])
            experts[j] = exp(logs[j])
        # The pool, and the frequencies at all and after the last class.
        pool_logs(logs, &self.weights[0], N_POOLED, n_classes, pooled)
        expert = experts + N_POOLED * n_classes
        for j in range(n_classes):
            expert[j] = pooled[j]
            expert[n_classes + j] = self.counts[0, j] + 0.5
            expert[2 * n_classes + j] = self.counts[1 + self.last, j] + 0.5
        bayes.scale(expert, n_classes, _LEAST / n_classes)
        bayes.scale(expert + n_classes, n_classes, 0.0)
        bayes.scale(expert + 2 * n_classes, n_classes, 0.0)
        add_up(&self.bayes[1], experts, N_EXPERTS, n_classes, found)
        if not learns:
            return
        # The regressions and the pool learn; a class that is new had no chance before.
        self._first.step(example, number, importance)
        self._second.step(example, number, importance)
        worth = min(importance, 1.0) if self.counts[0, number] > 0.0 else 0.0
        self.count_class(number, importance)
        if worth <= 0.0:
            return
        step_pool(
            logs, pooled, N_POOLED, n_classes, number, worth, &self.weights[0],
            &self.curvature[0, 0],
        )
        # Weigh the experts by what they had said of the class that came.
        for m in range(N_EXPERTS):
            self._shown[m] = experts[m * n_classes + number]
        bayes.learn(self._shown, worth, self.bayes, self._lost, N_EXPERTS)


cdef class SingleClasses:
    """Way of one example after another through all races, each written into the same row.

    Parameters
    ----------
    races : list of SafeRace
        As long as there are no others and none grows.
    mixture : ClassMixture
    row : ndarray of float32, shape (n_features,)
    """

    cdef readonly list races
    cdef readonly Py_ssize_t n_live
    cdef public object until
    cdef list ones
    cdef ClassMixture mixture
    cdef const float[::1] row
    cdef double[::1] margins, own, today

    def __init__(self, races, mixture, row):
        n = 1 + len(races)
        self.races, self.mixture, self.row = races, mixture, row
        self.ones = [OneExample(race.ensemble, row) for race in races]
        self.margins, self.own, self.today = np.zeros(n - 1), np.zeros(n), np.zeros(n)
        self.n_live, self.until = 0, 0

    @classmethod
    def of(cls, races, mixture, row):
        """Return the way through `races`; None if one of them has another."""
        safe = [race for race in races if isinstance(race, SafeRace) and race.ensemble.is_narrow]
        return cls(safe, mixture, row) if len(safe) == len(races) else None

    def begin(self, *, bint learns):
        """Look up what is live; if the next example is learned, until when it is.

        It is to be done again once the first race has learned `until` examples.
        """
        first = self.races[0].at
        self.n_live = sum(len(race.live) for race in self.races)
        self.until = sys.maxsize if learns else 0
        for race in self.races if learns else ():
            # Until the round ends, or labels may be standardised again (`Ensemble.move`).
            in_round = race.round_length - race.at % race.round_length
            self.until = min(self.until, first + min(in_round, race.ensemble.steady(race.at)))

    def predict(self, ClassPool pool or None):
        """Return the probabilities of the classes; nothing is learned."""
        if self.races[0].at >= self.until:
            self.begin(learns=False)
        found = np.empty(len(self.own))
        self.take(0, 0.0, pool, False, found)
        return found

    def learn(self, Py_ssize_t number, float importance, ClassPool pool or None):
        """Learn the example's class; return whether a race may have something to decide."""
        first = self.races[0]
        if first.at >= self.until:
            self.begin(learns=True)
        self.take(number, importance, pool, True, self.own)
        if pool is not None:
            pool.count(1)
        for race in self.races:
            race.at += 1
        return first.at >= self.until

    cdef int take(
        self, Py_ssize_t number, float importance, ClassPool pool, bint learns,
        double[::1] found,
    ) except -1:
        """Predict an example; learn it if it `learns`."""
        cdef OneExample one
        cdef double label = number
        cdef float worth = importance if learns else <float>0
        cdef Chunk chunk
        # Each race, with a label of its own.
        for k in range(len(self.ones)):
            one = self.ones[k]
            one.take(learns, 1 if number == 1 + k else -1, worth)
            self.margins[k] = one.block._predictions[0]
        bayes.one_vs_rest(self.margins, self.own)
        # The mixture, then the members.
        self.mixture.take(
            &self.own[0], &self.row[0], number, importance, learns, &self.today[0]
        )
        if pool is None:
            found[...] = self.today
            return 0
        chunk = Chunk(&self.row[0], NULL, &label, &worth, 1, False)
        pool.take(&self.today[0], chunk, &found[0])
        return 0
