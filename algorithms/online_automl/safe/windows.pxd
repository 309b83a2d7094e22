"""Tests on common windows; see `leaseboard.algorithms.online_automl.safe.windows`."""

from libc.stdint cimport int64_t

cpdef enum:
    BASE = 0  # the slot and the number of the initial configuration, which is always live
    WORSE = 1, BELOW = 2, ENDED = 4

cpdef enum:  # the columns of sums over a window, see `Mixture`
    ADVANTAGE, SQUARES, LOSS, LOSS_SQUARES

cpdef double critical_value(int64_t challengers, int64_t looks, double delta) noexcept nogil
cpdef Py_ssize_t judge(
    const double[:, ::1] sums, const int64_t[::1] starts, const int64_t[::1] leases,
    const int64_t[::1] live, Py_ssize_t champion, int64_t at, const double[::1] critical,
    Py_ssize_t most, int64_t[::1] verdicts,
) noexcept nogil
