from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers

cpdef enum:
    # The simple models.
    MEAN_SO_FAR, LAST, SEASON, RIDGE, RIDGE_ON_PAST, N_SIMPLE

cpdef enum:
    N_PAST = 4  # features of the labels' past: the last three, and the one a season ago
    N_KNOTS = 5
    NARROW = 64  # up to so many features all are seen in pieces and in both ridge regressions


cpdef enum:
    EMPTY = -1  # a slot without a feature
    EVERY = 100  # examples between two selections; once the memory is full, of every fifth

cdef extern from *:
    const double FARTHEST "1e6"  # deviations from the mean beyond which no model learns a label


cdef class Ridge(Buffers):
    # R, c, w and the penalties of `leaseboard.algorithms.reference.steps`, of n rows.
    cdef public double[:, ::1] _triangle
    cdef public double[::1] _rotated, _weights, _penalties


cdef class Row:
    cdef public const float[::1] example
    cdef public float label, importance, prediction
    cdef readonly double shown, low, high
    cdef readonly float[::1] wide, outputs
    cdef readonly double[::1] values
    cdef public const int64_t[::1] live
    cdef public Py_ssize_t champion
    cdef public bint learns, looked


cdef class FeatureExpansion(Buffers):
    cdef readonly bint classes
    cdef readonly object shares
    cdef Py_ssize_t d, season
    cdef public double[::1] _scale, _past, _losses
    cdef public double[:, ::1] _moments
    cdef public Ridge _ridge, _on_past
    cdef public int64_t[::1] _slots
    cdef public float[:, ::1] _memory
    # Scratch: a row before it is rounded, what both ridge regressions say of it, how its units
    # change, and their rows.
    cdef double lags[N_PAST]
    cdef double on_features, on_past_said
    cdef double[::1] standard, narrow
    cdef double[:, ::1] units, broad

    # Write all that a row has room for; if it `learns`, learn it.
    cpdef expand(self, Row row)
