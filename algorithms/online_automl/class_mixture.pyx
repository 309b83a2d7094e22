"""Chances of three and more classes: those of races, of softmax regressions, and their pool."""

import numpy as np

from libc.math cimport sqrt

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online.kernel cimport RowCalls
from leaseboard.algorithms.online_automl.log_pool cimport PRIOR, add_up, pool_logs, soften, step_pool
from leaseboard.algorithms.online_automl.members.pool cimport ClassPool
from leaseboard.algorithms.online_automl.safe cimport bayes
from leaseboard.algorithms.reference.steps cimport add_moments, standardise

from leaseboard.algorithms.online_automl.safe.bayes import new_weights

cpdef enum:
    N_POOLED = 3  # the races and the softmax regressions
    N_EXPERTS = 6  # their pool, the classes' frequencies, and those after the class before


cdef class OnlineSoftmax:
    """Multinomial logistic regression [1]_ that learns each example once, by AdaGrad [2]_.

    Features are standardised by the mean and deviation of the rows before and clipped at ±10
    (`leaseboard.algorithms.reference.steps`), so their scales do not matter.

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
    >>> for t in range(300):
    ...     found = model.learn(np.array([t % 3], np.float32), t % 3, 1.0)
    >>> found.argmax()  # t is 299
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

    def learn(self, const float[::1] example, Py_ssize_t number, double importance):
        """Learn the class called `number`; return the probabilities before, shape (n_classes,).

        Gradients are multiplied by the importance, of which at most 1 counts.
        """
        self.ask(&example[0])
        found = np.array(self._said)
        self.step(&example[0], number, importance)
        return found

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
    cdef double[::1] _own, _logs, _experts, _pooled, _shown, _lost

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
        self._experts, self._own = np.zeros(N_EXPERTS * n_classes), np.zeros(n_classes)

    cpdef take(
        self, const double[::1] margins, const float[::1] example, Py_ssize_t number=0,
        float importance=0.0, ClassPool pool=None,
    ):
        """Return the probabilities of the classes; then, if it has importance, learn the class.

        Of two classes they are those of their race.

        Parameters
        ----------
        margins : ndarray of float64, shape (n_classes - 1,)
            The races' log odds.
        example : ndarray of float32, shape (n_features,)
        number : int
        importance : float
        pool : ClassPool, optional
            The members.

        Returns
        -------
        ndarray of float64, shape (n_classes,)
        """
        shares = np.ones(self.n_classes)
        cdef double[::1] found = shares
        if self.n_classes <= 2:
            if self.n_classes == 2:
                bayes.one_vs_rest(margins, found)
            if importance > 0.0:
                self.count_class(number, importance)
            return shares
        bayes.one_vs_rest(margins, self._own)
        self._take(&self._own[0], &example[0], number, importance, &found[0])
        if pool is not None:
            self._own[:] = found
            pool.take(&self._own[0], &example[0], number, importance, &found[0])
            if importance > 0.0:
                pool.count()
        return shares

    cpdef void count_class(self, Py_ssize_t number, double importance) noexcept:
        """Let the frequencies alone learn one class."""
        self.counts[0, number] += importance
        if self.last >= 0:
            self.counts[1 + self.last, number] += importance
        self.last = number

    cdef void _take(
        self, const double *own, const float *example, Py_ssize_t number, double importance,
        double *found,
    ) noexcept:
        """Write the experts' average of an example; then, if it has importance, learn its class."""
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
        if importance <= 0.0:
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


cdef class ClassRow:
    """Way of one example after another through the races of all classes, each in the same row.

    Parameters
    ----------
    whole : OneVsRest
        As long as its columns are the same.
    row : ndarray of float32, shape (n_features,)

    Attributes
    ----------
    found : ndarray of float64, shape (n_classes,)
        The probabilities before what was learned last.
    """

    cdef readonly object row
    cdef object whole
    cdef const float[::1] example
    cdef list ones
    cdef double[::1] margins
    cdef readonly double[::1] found

    def __init__(self, whole, row):
        self.whole, self.row, self.example, self.ones = whole, row, row, []

    cdef int join(self) except -1:
        """Let races in that have begun since."""
        races = self.whole.races
        if len(self.ones) < len(races):
            self.ones += [race.bind(self.row) for race in races[len(self.ones):]]
            self.margins = np.zeros(len(self.ones))

    def predict(self):
        """Return the probabilities of the example in the row; nothing is learned."""
        self.join()
        for k in range(len(self.ones)):
            self.margins[k] = (<RowCalls>self.ones[k]).predict_row()
        mixture = <ClassMixture>self.whole.mixture
        return mixture.take(self.margins, self.example, 0, 0.0, self.whole.pool)

    def learn(self, double number, double importance):
        """Learn its class; return whether there are events to report."""
        cdef Py_ssize_t which = <Py_ssize_t>number
        cdef list due = []
        mixture = <ClassMixture>self.whole.mixture
        if which >= mixture.n_classes:
            self.whole.welcome(which)
        self.join()
        for k in range(len(self.ones)):
            one = <RowCalls>self.ones[k]
            if one.learn_row(1.0 if which == 1 + k else -1.0, importance):
                due.append(k)
            self.margins[k] = one.said
        self.found = mixture.take(
            self.margins, self.example, which, importance, self.whole.pool
        )
        return self.whole.learned(self.row, which, importance, due)
