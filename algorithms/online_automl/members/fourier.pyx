"""Ridge regression on random Fourier features: a kernel machine of bounded size.

`FEATURES` cosines cos(ω·z + φ) of the standardised example z, with random directions ω of three
lengths and random phases, approximate a mixture of Gaussian kernels [1]_. On them and a constant
the ridge regression on all examples before is exact after each one, by a recursion of the inverse

    P ← P - P x xᵀ P / (1 + xᵀ P x),    W ← W + P x (y - xᵀ W),

which is computed so that P stays symmetric: of an example its gain √s P x is kept, whose products
are taken from P as the next one is multiplied with it. Numbers are learned less the first one.
Classes are the regression of their indicators; what it says is bounded from below by `LEAST` and
scaled to 1.

References
----------
.. [1] Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
"""

import math

import numpy as np

from libc.math cimport sqrt
from libc.string cimport memcpy

from leaseboard.algorithms import plain, seeds
from leaseboard.algorithms.buffers import aligned_zeros

from leaseboard.algorithms.elementary cimport cos
from leaseboard.algorithms.online_automl.members.member cimport Given, Member

cpdef enum:
    FEATURES = 120

cdef enum:
    WIDTH = 124  # of the rows of P, whose last numbers are 0, so that vectors are whole

BANDWIDTHS = (0.5, 1.0, 2.0)
"""Of the kernels, in units of the length of a standardised example, √(number of columns)."""

cdef double _LEAST = 1e-3
LEAST = _LEAST


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
            bound(said, classes, k, found)

    cdef void write_cosines(self, const double *row, double *x) noexcept nogil:
        """Write cos(ω·z + φ) of all directions and phases."""
        cdef const double *direction = &self.directions[0, 0]
        cdef const double *phases = &self.phases[0]
        cdef Py_ssize_t i
        for i in range(FEATURES):
            x[i] = phases[i]
        for j in range(self.n_features):
            value = row[j]
            for i in range(FEATURES):
                x[i] += value * direction[i]
            direction += FEATURES
        for i in range(FEATURES):
            x[i] = cos(x[i])


cdef inline void bound(
    const double *said, bint classes, Py_ssize_t k, double *found
) noexcept nogil:
    """Write numbers unchanged, and of classes positive shares of 1."""
    cdef double total = 0.0
    for j in range(k):
        found[j] = max(said[j], _LEAST) if classes else said[j]
        total += found[j]
    if classes:
        for j in range(k):
            found[j] /= total
