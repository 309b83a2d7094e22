"""Base of members, and the recursion of an inverse, for other kernels; see the module."""

from libc.math cimport sqrt

cdef extern from *:
    """
    static inline void lb_four_rows(
        const double *x, const double *own, const double *restrict before, double *restrict first,
        double *restrict second, double *restrict third, double *restrict fourth,
        double *restrict gain, long width)
    {
        for (long j = 0; j < width; j++) {
            double one = first[j] - own[0] * before[j], two = second[j] - own[1] * before[j];
            double three = third[j] - own[2] * before[j], four = fourth[j] - own[3] * before[j];
            first[j] = one; second[j] = two; third[j] = three; fourth[j] = four;
            gain[j] = gain[j] + x[0] * one + x[1] * two + x[2] * three + x[3] * four;
        }
    }
    """
    void _four_rows "lb_four_rows"(
        const double *x, const double *own, const double *before, double *first, double *second,
        double *third, double *fourth, double *gain, long width,
    ) noexcept nogil


cdef inline double shrink(
    const double *x, double worth, double *inverse, const double *before, double *gain,
    Py_ssize_t n, Py_ssize_t width,
) noexcept nogil:
    """Take the gain `before` out of P; write √s P x into `gain` and return s, the weights' step.

    P has `n` rows of `width` numbers, of which those beyond n are 0; so have the gains.
    """
    cdef Py_ssize_t whole = n - n % 4
    cdef double *row = inverse
    cdef double variance = 0.0
    # The gain by rows of P, which is symmetric: four at a time, so that it is read less often.
    for j in range(width):
        gain[j] = 0.0
    for i in range(0, whole, 4):
        _four_rows(
            x + i, before + i, before, row, row + width, row + 2 * width, row + 3 * width, gain,
            width,
        )
        row += 4 * width
    for i in range(whole, n):
        for j in range(width):
            row[j] -= before[i] * before[j]
            gain[j] += x[i] * row[j]
        row += width
    for i in range(n):
        variance += x[i] * gain[i]
    step = worth / (1.0 + worth * variance)
    root = sqrt(step)
    for j in range(width):
        gain[j] *= root
    return step


cdef struct Given:
    # Example that goes through members: raw and standardised, a number or the number of its class,
    # and its importance, of which 0 teaches nothing.
    const float *example
    const double *standard
    double target, worth
    bint again  # whether it was predicted just before, and what that computed is there


cdef class Member:
    cdef public object seed
    cdef readonly Py_ssize_t n_features, n_classes

    # Learn an example; overwrite what is predicted of each output before its label.
    cdef void take(self, const Given *given, double *found) noexcept nogil
