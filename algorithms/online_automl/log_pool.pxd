"""Declarations of the logarithmic pool for kernels; see the module."""

cdef enum:
    MOST_POOLED = 4

cdef void pool_logs(
    const double *logs, const double *weights, Py_ssize_t n, Py_ssize_t k, double *found
) noexcept nogil
cdef void add_up(
    const double *weights, const double *rows, Py_ssize_t n, Py_ssize_t k, double *found
) noexcept nogil
cdef void step_pool(
    double *logs, const double *probabilities, Py_ssize_t n, Py_ssize_t k, Py_ssize_t number,
    double worth, double *weights, double *curvature,
) noexcept nogil
cdef void soften(const double *scores, double *probabilities, Py_ssize_t n) noexcept nogil
