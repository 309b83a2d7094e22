from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers

cpdef enum:
    EMPTY = -1  # a slot without a feature
    EVERY = 100  # examples between two selections; once the memory is full, of every fifth

cdef extern from *:
    const double FARTHEST "1e6"  # deviations from the mean beyond which no model learns a label


cdef class Ridge(Buffers):
    # R, c and w of `leaseboard.algorithms.reference.ridge_steps`, of n rows.
    cdef double *triangle
    cdef double *rotated
    cdef double *weights
    cdef Py_ssize_t n


cdef double target_of(double label, const double *scale, bint classes) noexcept nogil
cdef void choose(
    const float *example, Py_ssize_t n_past, const int64_t *slots, Py_ssize_t n_slots, double *row
) noexcept nogil
cdef double weigh_row(
    const double *weights, double *row, Py_ssize_t n, double label, double root, bint classes
) noexcept nogil
