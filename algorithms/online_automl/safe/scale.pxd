"""Range and scale of labels; see `leaseboard.algorithms.online_automl.safe.scale`."""

cpdef enum:
    # how many labels, the two least and the two largest, the range that labels are clipped to, and
    # of the clipped ones the mean and the sum of squared deviations
    COUNT, LEAST, SECOND_LEAST, SECOND_MOST, MOST, LOW, HIGH, MEAN, SQUARES,
    # the label that was last beyond the range on each side, and which one it was; whether the
    # range was known beforehand, as that of classes is; the sum of importances; the last label as
    # learners saw it; how many strays there were of late; and which label last extended the range
    # from beyond it
    BELOW, BELOW_AT, ABOVE, ABOVE_AT, KNOWN, WEIGHT, SHOWN, STRAYS, EXTENDED_AT

cpdef double deviation(const double[::1] scale) noexcept nogil
cpdef double clipped(double label, const double[::1] scale, bint explained=*) noexcept nogil
cpdef void learn_label(
    double label, double[::1] scale, double importance=*, bint explained=*
) noexcept nogil
