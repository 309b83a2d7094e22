"""Kernels of ridge regressions; see `leaseboard.algorithms.reference.ridge`.

R is a triangle of n rows of n numbers, row after row. `moments` are the means of d features, then
their sums of squared deviations.
"""

from libc.math cimport sqrt

cpdef enum:
    CLIP = 10  # Deviations from the mean beyond which a feature counts no more.

ctypedef fused Number:
    float
    double


cdef inline void standardise(
    const Number *example, const double *moments, Py_ssize_t d, double count, double *row
) noexcept nogil:
    """Write the example's features less their mean over their deviation, clipped at `CLIP`.

    A feature that has not varied yet is 0.
    """
    for j in range(d):
        if moments[d + j] > 0.0:
            value = (<double>example[j] - moments[j]) / sqrt(moments[d + j] / count)
            row[j] = min(max(value, -<double>CLIP), <double>CLIP)
        else:
            row[j] = 0.0


cdef inline void add_moments(
    const float *example, double *moments, Py_ssize_t d, double count
) noexcept nogil:
    """Take an example, the `count`-th, into the means and squared deviations (Welford)."""
    for j in range(d):
        value = <double>example[j]
        difference = value - moments[j]
        moments[j] += difference / count
        moments[d + j] += difference * (value - moments[j])


cdef void solve(
    const double *triangle, const double *rotated, double *weights, Py_ssize_t n
) noexcept nogil
cdef void rotate(
    double *triangle, double *rotated, double *row, Py_ssize_t n, double label
) noexcept nogil
cdef double reweigh(double *row, Py_ssize_t n, double margin, double label) noexcept nogil
