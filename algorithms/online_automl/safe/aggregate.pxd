"""An average that stays near the best; see `leaseboard.algorithms.online_automl.safe.aggregate`."""

cpdef enum:
    LARGEST, SINCE, ALLOWED, FIELDS

cdef extern from *:
    double _SHARES "1.6"  # an upper bound of A

cpdef double share(double since) noexcept nogil
cpdef double prior(Py_ssize_t k, Py_ssize_t n_experts) noexcept nogil
cdef double aggregate(
    const double *predictions, const double *state, Py_ssize_t n
) noexcept nogil
cdef void weigh(
    const double *predictions, double label, double shown, double width, double *state,
    Py_ssize_t n, double importance=*,
) noexcept nogil
