"""Range and scale of labels; see `leaseboard.algorithms.online_automl.safe.scale`."""

from libc.math cimport sqrt

cpdef enum:
    # how many labels, the two least and the two largest, the range that labels are clipped to, and
    # of the clipped ones the mean and the sum of squared deviations
    COUNT, LEAST, SECOND_LEAST, SECOND_MOST, MOST, LOW, HIGH, MEAN, SQUARES,
    # the label that was last beyond the range on each side, and which one it was; whether the
    # range was known beforehand, as that of classes is; the sum of importances; the last label as
    # learners saw it; how many strays there were of late; and which label last extended the range
    # from beyond it
    BELOW, BELOW_AT, ABOVE, ABOVE_AT, KNOWN, WEIGHT, SHOWN, STRAYS, EXTENDED_AT

cdef double clipped(double label, const double *scale, bint explained=*) noexcept nogil
cdef void admit(
    double label, double *scale, double importance=*, bint explained=*
) noexcept nogil


cdef inline double deviation(const double *scale) noexcept nogil:
    """Return the standard deviation of the clipped labels; 0 before two labels differ."""
    return sqrt(scale[SQUARES] / scale[WEIGHT]) if scale[WEIGHT] > 0.0 else 0.0
