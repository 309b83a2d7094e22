"""Base of members for other kernels; see the module."""

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
