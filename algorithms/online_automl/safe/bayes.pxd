"""Mixtures of probabilities; see `leaseboard.algorithms.online_automl.safe.bayes`."""

cdef double average(
    const double *probabilities, const double *state, Py_ssize_t n
) noexcept nogil
cdef void update(const double *probabilities, double *state, Py_ssize_t n) noexcept nogil
cdef void scale(double *values, Py_ssize_t n, double least) noexcept nogil
cpdef void one_vs_rest(const double[::1] margins, double[::1] found) noexcept
