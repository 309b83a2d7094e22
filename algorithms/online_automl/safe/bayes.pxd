"""Mixtures of probabilities; see `leaseboard.algorithms.online_automl.safe.bayes`."""

cpdef double average(const double[::1] probabilities, const double[::1] state) noexcept nogil
cpdef void learn(
    double[::1] probabilities, double worth, double[::1] state, double[::1] lost,
    Py_ssize_t n_baselines,
) noexcept nogil
cdef void scale(double *values, Py_ssize_t n, double least) noexcept nogil
cpdef void one_vs_rest(const double[::1] margins, double[::1] found) noexcept
