"""An average that stays near the best; see `leaseboard.algorithms.online_automl.safe.aggregate`."""

cpdef enum:
    LARGEST, SINCE, ALLOWED, FIELDS

cdef extern from *:
    double _SHARES "1.6"  # an upper bound of A

cpdef double share(double since) noexcept nogil
cpdef double aggregate(const double[::1] predictions, const double[::1] state) noexcept nogil
cpdef void weigh(
    const double[::1] predictions, double label, double shown, double width, double[::1] state,
    double importance=*,
) noexcept nogil
