"""Kernels of prediction intervals; see `leaseboard.algorithms.online.conformal`.

What is *asked* of a prediction is an array: `N_LOCAL` numbers that the local level is regressed
on, that level, and of each kept level three half widths: the given one, and that by each kind of
score.
"""

from libc.stdint cimport uint8_t

cpdef enum:
    WINDOW = 1000, SCORES = 250, N_LOCAL = 4

cpdef enum:  # running values
    AT, MEAN, VARIANCE, ERRORS, MASS

cpdef enum:  # the fields of a level
    STEERED, PLAIN_LOSS, LOCAL_LOSS, MISSED, COVERED, WIDTHS, BOUNDED, MOST_MISSED


cdef class Conformal:
    cdef const double[::1] alphas, most
    cdef double[:, ::1] scores, ordered, tracked
    cdef uint8_t[:, ::1] misses
    cdef double[::1] running, weights
    cdef double[::1] asked  # of a block's predictions, one after the other


cdef void ask(double prediction, Conformal state, double *asked) noexcept nogil
cdef void update(
    double error, double prediction, const double *asked, const double *rates, Conformal state
) noexcept nogil
cdef void follow(
    const float *labels, const float *importances, const float *predictions, Py_ssize_t n,
    const double *rates, Conformal state,
) noexcept nogil
