from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.selected cimport Ridge

cpdef enum:
    MEAN_SO_FAR = 0  # the simple models
    LAST = 1
    SEASON = 2
    RIDGE = 3
    RIDGE_ON_PAST = 4
    N_SIMPLE = 5
    N_PAST = 4  # features of the labels' past: the last three, and the one a season ago
    N_KNOTS = 5
    NARROW = 64  # up to so many features all are seen in pieces and in both ridge regressions


cdef class Block:
    cdef Py_ssize_t n, d, n_wide, b, n_values
    # Of float32, of these shapes: (n, d), (n,), (n,), (n, n_wide), (n, b), (n,).
    cdef const float *examples
    cdef float *labels
    cdef float *importances
    cdef float *wide
    cdef float *outputs
    cdef float *predictions
    # Of float64: (n, n_values), (n,), (n, 2).
    cdef double *values
    cdef double *shown
    cdef double *limits
    cdef readonly dict arrays


cdef class Members:
    cpdef answer(self, Block block, bint learns)


cdef class SimpleModels(Buffers):
    cdef Py_ssize_t d, n_slots, n_memory
    cdef readonly bint classes
    cdef Py_ssize_t period
    cdef double *scale
    cdef double *moments
    cdef double *past
    cdef double *losses
    cdef Ridge ridge
    cdef Ridge on_past
    cdef int64_t *slots
    cdef float *memory
    # Scratch: a row before it is rounded, and those of both ridge regressions.
    cdef object _room
    cdef double lags[N_PAST]
    cdef double *row
    cdef double *narrow
    cdef double *broad

    # Go on from example `start` of a block; return where features may be selected, or its end.
    cdef Py_ssize_t advance(
        self, Block block, Py_ssize_t start, bint learns, bint looked
    ) noexcept nogil
    cdef void _look(self, Block block, Py_ssize_t t) noexcept nogil
    cdef void _represent(
        self, const float *example, Py_ssize_t seen, float *wide
    ) noexcept nogil
    cdef void _predict(self, double *simple) noexcept nogil
    cdef bint _learn(self, Block block, Py_ssize_t t) noexcept nogil


cdef class FeatureExpansion:
    cdef readonly bint classes
    cdef public object shares
    cdef public SimpleModels known


cdef void cut(double value, bint varies, float *pieces) noexcept nogil
