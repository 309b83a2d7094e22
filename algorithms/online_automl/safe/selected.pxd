from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.reference.ridge_steps cimport Number

cpdef enum:
    EMPTY = -1  # a slot without a feature
    EVERY = 100  # examples between two selections; once the memory is full, of every fifth

cdef extern from *:
    const double FARTHEST "1e6"  # deviations from the mean beyond which no model learns a label


cdef class Ridge(Buffers):
    # R, c, w and the penalties of `leaseboard.algorithms.reference.ridge_steps`, of n rows.
    cdef public double[:, ::1] _triangle
    cdef public double[::1] _rotated, _weights, _penalties


cdef double target_of(double label, const double[::1] scale, bint classes) noexcept nogil
cdef void choose(
    const Number *example, Py_ssize_t n_past, const int64_t[::1] slots, double empty, double *row
) noexcept nogil
cdef void take_row(
    Ridge ridge, double *row, double label, double importance, bint classes, double margin
) noexcept nogil
cdef void solve_ridge(Ridge ridge) noexcept nogil
