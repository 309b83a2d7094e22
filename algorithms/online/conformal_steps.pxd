"""Kernels of prediction intervals; see `leaseboard.algorithms.online.conformal`.

What is *asked* of a prediction is an array: `N_LOCAL` numbers that the local level is regressed
on, that level, and of each kept level three half widths: the given one, and that by each kind of
score.
"""

from libc.stdint cimport uint8_t

from leaseboard.algorithms.buffers cimport Buffers

cpdef enum:
    WINDOW = 1000, SCORES = 250, N_LOCAL = 4

cpdef enum:  # running values
    AT, MEAN, VARIANCE, ERRORS, MASS

cpdef enum:  # the fields of a level
    STEERED, PLAIN_LOSS, LOCAL_LOSS, MISSED, COVERED, WIDTHS, BOUNDED, MOST_MISSED


cdef class Conformal(Buffers):
    cdef public double[::1] _alphas, _most, _running, _weights, _longest
    cdef public double[:, ::1] _scores, _ordered, _tracked, _rates
    cdef public uint8_t[:, ::1] _misses
    cdef double[::1] asked  # of a prediction whose label comes next

    cpdef void follow(self, double label, double prediction) noexcept
