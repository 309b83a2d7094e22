"""Kernels of seasonal predictions; see `leaseboard.algorithms.reference.season_steps`."""

cpdef enum:
    LONGEST = 1000  # The longest period that is looked for: two years of days are within it.


cdef inline Py_ssize_t latest(Py_ssize_t seen, Py_ssize_t longest) noexcept nogil:
    """Return where the last label is in `past`, after so many labels."""
    return (longest - seen % longest) % longest


cdef inline void remember(
    double label, double *past, Py_ssize_t longest, Py_ssize_t seen
) noexcept nogil:
    """Put a label before those that were learned."""
    start = latest(seen + 1, longest)
    past[start] = past[start + longest] = label


cdef void compare(
    double label, bint classes, const double *past, double *losses, Py_ssize_t longest,
    Py_ssize_t seen,
) noexcept nogil
cdef Py_ssize_t next_period(
    const double *losses, Py_ssize_t longest, Py_ssize_t seen, Py_ssize_t period
) noexcept nogil
