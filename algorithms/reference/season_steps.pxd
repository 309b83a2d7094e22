"""Kernels of seasonal predictions; see `leaseboard.algorithms.reference.season_steps`."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

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


cdef inline void compare(
    double label, bint classes, const double *past, double *losses, Py_ssize_t longest,
    Py_ssize_t seen,
) noexcept nogil:
    """Add to `losses` what the label so many examples before would have lost as a prediction.

    A class loses 1 by each other one.
    """
    recent = past + latest(seen, longest)
    for k in range(min(seen, longest)):
        difference = label - recent[k]
        if classes and difference != 0.0:
            difference = 1.0
        losses[1 + k] += difference * difference


cdef inline Py_ssize_t _least_period(
    const double *losses, Py_ssize_t longest, Py_ssize_t seen
) noexcept nogil:
    """Return the period of least mean loss among those of which two have passed; 1 if none has."""
    cdef Py_ssize_t period = 1
    cdef double least = INFINITY
    for lag in range(2, min(seen // 2, longest) + 1):
        mean = losses[lag] / (seen - lag)
        if mean < least:
            period, least = lag, mean
    return period


cdef inline Py_ssize_t next_period(
    const double *losses, Py_ssize_t longest, Py_ssize_t seen, Py_ssize_t period
) noexcept nogil:
    """Return the period of least mean loss, which was `period` one label before.

    It seldom changes. Periods of as small a mean loss, up to rounding, are counted without a
    division; where there are others, all means are compared.
    """
    cdef int32_t lag, last = <int32_t>min(seen // 2, longest)
    if period < 2 or period > last:
        return _least_period(losses, longest, seen)
    cdef double most = losses[period] / (seen - period) * (1.0 + 1e-9), count = seen
    cdef int64_t candidates = 0
    for lag in range(2, last + 1):
        candidates += losses[lag] <= most * (count - <double>lag)
    return period if candidates == 1 else _least_period(losses, longest, seen)
