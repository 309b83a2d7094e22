from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers

cpdef enum:
    EMPTY = -1  # a slot without a feature
    EVERY = 100  # examples between two selections; once the memory is full, of every fifth

cdef extern from *:
    const double FARTHEST "1e6"  # deviations from the mean beyond which no model learns a label


cdef class Ridge(Buffers):
    # R, c and w of `leaseboard.algorithms.reference.ridge_steps`, of n rows.
    cdef public double[:, ::1] _triangle
    cdef public double[::1] _rotated, _weights


cdef double target_of(double label, const double[::1] scale, bint classes) noexcept nogil
cdef void choose(
    const float *example, Py_ssize_t n_past, const int64_t[::1] slots, double *row
) noexcept nogil
cdef void take_row(
    Ridge ridge, double *row, double label, double importance, bint classes
) noexcept nogil
cdef void solve_ridge(Ridge ridge) noexcept nogil
