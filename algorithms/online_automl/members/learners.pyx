"""Base of members, and nearest neighbours.

These are found among the last examples, standardised as they came, at most `MOST`
of them and no more than `NUMBERS` numbers in all. The prediction is the average of the labels of
the `NEAREST` of them by Euclidean distance, the i-th nearest with weight 1 / √i [1]_ times its
importance; classes that none of them has share a prior of half a neighbour.

References
----------
.. [1] Dudani. The distance-weighted k-nearest-neighbor rule. IEEE Transactions on Systems, Man,
       and Cybernetics 6, 1976.
"""

import numpy as np

from libc.math cimport sqrt

from leaseboard.algorithms.buffers import aligned_zeros

cpdef enum:
    NEAREST = 10

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
        cdef Given given
        for t in range(len(rows)):
            given = Given(&examples[t, 0], &standard[t, 0], targets[t], 1.0, False)
            self.take(&given, &found[t, 0])
            self.draw()
        return np.asarray(found)


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
        cdef Py_ssize_t j, place
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
