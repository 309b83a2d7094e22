from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.selected cimport Ridge

cpdef enum:
    # The simple models.
    MEAN_SO_FAR, LAST, SEASON, RIDGE, RIDGE_ON_PAST, N_SIMPLE

cpdef enum:
    N_PAST = 4  # features of the labels' past: the last three, and the one a season ago
    N_KNOTS = 5
    NARROW = 64  # up to so many features all are seen in pieces and in both ridge regressions


cdef class Block(Buffers):
    cdef Py_ssize_t n
    cdef public const float[:, ::1] _examples
    cdef public const float[::1] _labels, _importances
    cdef public float[:, ::1] _wide, _outputs
    cdef public float[::1] _predictions
    cdef public double[:, ::1] _values, _limits
    cdef public double[::1] _shown
    cdef public const int64_t[::1] live
    cdef public Py_ssize_t champion
    cdef public bint learns, looked


cdef class Members:
    cpdef answer(self, Block block)


cdef class FeatureExpansion(Buffers):
    cdef readonly bint classes
    cdef readonly object shares
    cdef Py_ssize_t d, season
    cdef public double[::1] _scale, _past, _losses
    cdef public double[:, ::1] _moments
    cdef public Ridge _ridge, _on_past
    cdef public int64_t[::1] _slots
    cdef public float[:, ::1] _memory
    # Scratch: a row before it is rounded, and those of both ridge regressions.
    cdef double lags[N_PAST]
    cdef double[::1] row, narrow, broad

    # Write all that a block has room for; if it `learns`, learn it.
    cdef int expand(self, Block block) except -1
    cdef void _look(self, Block block, Py_ssize_t t) noexcept nogil
    cdef void _predict(self, double *simple) noexcept nogil
    cdef bint _learn(self, Block block, Py_ssize_t t) noexcept nogil
