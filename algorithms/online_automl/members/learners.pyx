"""Members that learn each example once: their base, random Fourier features, nearest neighbours.

**Random Fourier features** make a kernel machine of bounded size. `FEATURES` cosines cos(ω·z + φ)
of the standardised example z, with random directions ω of three lengths and random phases,
approximate a mixture of Gaussian kernels [1]_. On them and a constant the ridge regression on all
examples before is exact after each one, by a recursion of the inverse

    P ← P - P x xᵀ P / (1 + xᵀ P x),    W ← W + P x (y - xᵀ W),

which is computed so that P stays symmetric: of an example its gain √s P x is kept, whose products
are taken from P as the next one is multiplied with it. Numbers are learned less the first one.
Classes are the regression of their indicators; what it says is bounded from below by `LEAST` and
scaled to 1.

**Nearest neighbours** are found among the last examples, standardised as they came, at most `MOST`
of them and no more than `NUMBERS` numbers in all. The prediction is the average of the labels of
the `NEAREST` of them by Euclidean distance, the i-th nearest with weight 1 / √i [2]_ times its
importance; classes that none of them has share a prior of half a neighbour.

References
----------
.. [1] Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
.. [2] Dudani. The distance-weighted k-nearest-neighbor rule. IEEE Transactions on Systems, Man,
       and Cybernetics 6, 1976.
"""

import math

import numpy as np

from libc.math cimport sqrt
from libc.string cimport memcpy

from leaseboard.algorithms import plain, seeds
from leaseboard.algorithms.buffers import aligned_zeros

from leaseboard.algorithms.elementary cimport cos
from leaseboard.algorithms.online_automl.safe.bayes cimport scale

cpdef enum:
    FEATURES = 120
    NEAREST = 10

cdef enum:
    WIDTH = 124  # of the rows of P, whose last numbers are 0, so that vectors are whole

BANDWIDTHS = (0.5, 1.0, 2.0)
"""Of the kernels, in units of the length of a standardised example, √(number of columns)."""

cdef double LEAST = 1e-3

MOST, NUMBERS = 4096, 65536

cdef double PRIOR = 0.5


cdef class Member:
    """Predictor of numbers, or of the probabilities of classes.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        What it draws by.
    """

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.seed = n_features, n_classes, seed

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        pass

    @property
    def left(self):
        """The number of examples to learn before `draw`; very many if there is nothing to draw."""
        return 2**62

    @property
    def is_silent(self):
        """Whether it does not predict yet, though it learns."""
        return False

    def wake(self) -> None:
        """Go on after a pause."""

    def draw(self) -> bool:
        """Draw what is drawn from examples if it is time; return whether it was."""
        return False

    def learn(self, rows, targets):
        """Learn a block of standardised rows; return what it predicts of each before its label.

        Where nothing is known yet this is NaN.
        """
        cdef const float[:, ::1] examples = rows.astype(np.float32)
        cdef const double[:, ::1] standard = rows.astype(np.float64)
        cdef double[:, ::1] found = np.full((len(rows), max(1, self.n_classes)), np.nan)
        for t in range(len(rows)):
            given = Given(&examples[t, 0], &standard[t, 0], targets[t], 1.0, False)
            self.take(&given, &found[t, 0])
            self.draw()
        return np.asarray(found)


cdef class FourierRidge(Member):
    """Ridge regression on random cosines of an example.

    Attributes
    ----------
    inverse : ndarray of float64, shape (1 + FEATURES, WIDTH)
        P before the last example, whose gain, to be taken from it, is `gain`.

    Examples
    --------
    >>> rows = np.random.RandomState(0).randn(2000, 1)
    >>> found = FourierRidge(1, 0).learn(rows, np.sin(rows[:, 0]))
    >>> bool(np.abs(found[1000:, 0] - np.sin(rows[1000:, 0])).mean() < 0.05)
    True
    """

    kept = "inverse", "gain", "weights", "scale", "first", "seed"

    cdef public double[::1] scale, first, phases, cosines, gain
    cdef public double[:, ::1] directions, weights, inverse
    cdef double[::1] _next, _said

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        self.scale, self.first = np.array([math.sqrt(max(1, n_features))]), np.zeros(2)
        self.inverse, self.cosines = aligned_zeros((1 + FEATURES, WIDTH)), np.ones(1 + FEATURES)
        np.fill_diagonal(np.asarray(self.inverse), 1.0)
        self.gain, self._next = aligned_zeros((2, WIDTH))
        self.weights = np.zeros((1 + FEATURES, 0))
        self.grow(n_features, n_classes)

    def _draw(self) -> None:
        # Each column has numbers of its own, so that one can join later.
        columns = [seeds.generator("Fourier", self.seed, j) for j in range(self.n_features)]
        lengths = np.repeat(BANDWIDTHS, FEATURES // len(BANDWIDTHS)) * self.scale[0]
        normal = np.array([each.standard_normal(FEATURES) for each in columns])
        self.directions = normal.reshape(self.n_features, FEATURES) / lengths
        self.phases = seeds.generator("Fourier phases", self.seed).uniform(
            0.0, 2.0 * math.pi, FEATURES
        )

    @property
    def operations(self):
        """Operations an example, of which a processor does several at a time."""
        return 0.28 * FEATURES**2 + 0.1 * FEATURES * (self.n_features + 40.0)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes."""
        before, k = np.asarray(self.weights), max(1, n_classes)
        self.n_features, self.n_classes = n_features, n_classes
        self.weights, self._said = np.zeros((1 + FEATURES, k)), np.zeros(k)
        np.asarray(self.weights)[:, : before.shape[1]] = before
        self._draw()

    def fill(self, state) -> None:
        """See `plain.Saved.fill`; nothing may be infinite or NaN."""
        plain.fill(self, state, self.kept)
        self._draw()

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        cdef Py_ssize_t size = 1 + FEATURES, k = self.weights.shape[1], i, j
        cdef bint classes = self.n_classes > 0, unknown = self.first[1] == 0.0
        cdef double *weights = &self.weights[0, 0]
        cdef double *gain = &self._next[0]
        cdef double *said = &self._said[0]
        cdef double *x = &self.cosines[0]
        cdef double worth = given.worth, target = given.target
        # Before the first label nothing is known, not even where 0 is.
        if unknown and worth > 0.0:
            self.first[0], self.first[1] = 0.0 if classes else target, 1.0
        # What the regression on the constant and the cosines says of each output.
        if not given.again:
            self.write_cosines(given.standard, x + 1)
        if k == 1:
            sum = self.first[0]
            for i in range(size):
                sum += x[i] * weights[i]
            said[0] = sum
        else:
            for j in range(k):
                said[j] = self.first[0]
            for i in range(size):
                for j in range(k):
                    said[j] += x[i] * weights[i * k + j]
        if worth > 0.0:
            # Move the weights of each output along the gain, which is scaled by the step.
            root = sqrt(shrink(x, worth, &self.inverse[0, 0], &self.gain[0], gain, size, WIDTH))
            for j in range(k):
                label = (1.0 if <double>j == target else 0.0) if classes else target
                error = root * (label - said[j])
                for i in range(size):
                    weights[i * k + j] += error * gain[i]
            memcpy(&self.gain[0], gain, WIDTH * sizeof(double))
        if not unknown:
            memcpy(found, said, k * sizeof(double))
            if classes:
                scale(found, k, LEAST)

    cdef void write_cosines(self, const double *row, double *x) noexcept nogil:
        """Write cos(ω·z + φ) of all directions and phases."""
        cdef const double *direction = &self.directions[0, 0]
        memcpy(x, &self.phases[0], FEATURES * sizeof(double))
        for j in range(self.n_features):
            value = row[j]
            for i in range(FEATURES):
                x[i] += value * direction[i]
            direction += FEATURES
        for i in range(FEATURES):
            x[i] = cos(x[i])


cdef class Neighbours(Member):
    """Window of the last examples, and the prediction of the nearest.

    Examples
    --------
    >>> rows = np.random.RandomState(0).rand(1000, 2)
    >>> found = Neighbours(2, 0).learn(rows, rows.sum(axis=1))
    >>> bool(np.abs(found[500:, 0] - rows[500:].sum(axis=1)).mean() < 0.05)
    True
    """

    kept = "window", "targets", "worths", "seen"

    cdef public float[:, ::1] window
    cdef public double[::1] targets, worths, seen
    cdef float[::1] _distances

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        size = min(MOST, NUMBERS // max(1, n_features))
        self.window = aligned_zeros((n_features, size), np.float32)
        self.targets, self.worths, self.seen = np.zeros(size), np.zeros(size), np.zeros(1)
        self._distances = aligned_zeros(size, np.float32)

    @property
    def operations(self):
        """Operations an example, of which a processor does a dozen at a time."""
        return (self.window.size + 2.0 * len(self.targets)) / 12.0

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes; the window may shrink."""
        before = np.asarray(self.window), np.asarray(self.targets), np.asarray(self.worths)
        size, seen = len(self.targets), int(self.seen[0])
        self.__init__(n_features, n_classes)
        n = min(seen, size, len(self.targets))
        last = (seen - n + np.arange(n)) % size
        np.asarray(self.window)[: len(before[0]), :n] = before[0][:, last]
        np.asarray(self.targets)[:n], np.asarray(self.worths)[:n] = before[1][last], before[2][last]
        self.seen[0] = n

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        if self.seen[0] > 0.0 and not given.again:
            self.predict(given.standard, max(1, self.n_classes), found)
        if given.worth > 0.0:
            # Remember it in the place of the oldest.
            place = <Py_ssize_t>self.seen[0] % self.targets.shape[0]
            for j in range(self.n_features):
                self.window[j, place] = <float>given.standard[j]
            self.targets[place], self.worths[place] = given.target, given.worth
            self.seen[0] += 1.0

    cdef void predict(self, const double *row, Py_ssize_t k, double *found) noexcept nogil:
        """Write what the nearest say of a row."""
        cdef Py_ssize_t nearest[NEAREST]
        cdef Py_ssize_t n = self.find(row, nearest), i, j
        cdef bint classes = self.n_classes > 0
        cdef double total = PRIOR if classes else 0.0
        # The average of their labels.
        for j in range(k):
            found[j] = total / k
        for i in range(n):
            weight = self.worths[nearest[i]] / sqrt(1.0 + i)
            label = self.targets[nearest[i]]
            total += weight
            if classes:
                found[<Py_ssize_t>label] += weight
            else:
                found[0] += weight * label
        for j in range(k):
            found[j] /= total

    cdef Py_ssize_t find(self, const double *row, Py_ssize_t *nearest) noexcept nogil:
        """Write where the nearest of a row are, in order; return how many."""
        cdef Py_ssize_t held = min(<Py_ssize_t>self.seen[0], self.targets.shape[0]), n = 0
        cdef const float *distances = &self._distances[0]
        cdef float best[NEAREST]
        self.measure(row, held, &self._distances[0])
        for i in range(held):
            if n < NEAREST or distances[i] < best[NEAREST - 1]:
                n = insert(distances[i], i, n, best, nearest)
        return n

    cdef void measure(self, const double *row, Py_ssize_t held, float *distances) noexcept nogil:
        """Write the squared distances to all that are remembered, four columns at a time."""
        cdef Py_ssize_t size = self.targets.shape[0], d = self.n_features, j, r
        cdef Py_ssize_t whole = d - d % 4
        cdef const float *first = &self.window[0, 0]
        cdef float one
        for r in range(held):
            distances[r] = 0.0
        for j in range(0, whole, 4):
            second, third, fourth = first + size, first + 2 * size, first + 3 * size
            one, two = <float>row[j], <float>row[j + 1]
            three, four = <float>row[j + 2], <float>row[j + 3]
            for r in range(held):
                distances[r] = (
                    distances[r] + (first[r] - one) * (first[r] - one)
                    + (second[r] - two) * (second[r] - two)
                    + (third[r] - three) * (third[r] - three)
                    + (fourth[r] - four) * (fourth[r] - four)
                )
            first += 4 * size
        for j in range(whole, d):
            one = <float>row[j]
            for r in range(held):
                distances[r] += (first[r] - one) * (first[r] - one)
            first += size


cdef inline Py_ssize_t insert(
    float distance, Py_ssize_t place, Py_ssize_t n, float *best, Py_ssize_t *nearest
) noexcept nogil:
    """Take a distance among the `n` nearest, the earlier one first of equals; return n."""
    cdef Py_ssize_t i = n if n < NEAREST else NEAREST - 1
    while i > 0 and distance < best[i - 1]:
        best[i], nearest[i] = best[i - 1], nearest[i - 1]
        i -= 1
    best[i], nearest[i] = distance, place
    return min(n + 1, NEAREST)
