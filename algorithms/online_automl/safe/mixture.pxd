from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.expansion cimport Row

cpdef enum:  # the fields of an aggregate, before its weights
    LARGEST, SINCE, ALLOWED, FIELDS

cpdef enum:  # the fields of `Mixture.totals`
    MASS, COUNT, FIRST, LOST, SHARE_OF_BOUND, ETA, N_TOTALS

cpdef enum:  # the columns of `Mixture.sums`
    ADVANTAGE, SQUARES, LOSS, LOSS_SQUARES


cdef extern from *:
    double _SHARES "1.6"  # an upper bound of the sum of ln 1 / (1 - α_t)

cpdef double share(double since) noexcept nogil


cdef inline double worth_later(double gamma, double count) noexcept nogil:
    """Return what a loss is worth one example later, after `count` examples.

    The loss of example s counts γ^(t - s), but not more than about (s / t)² after t.
    """
    return min(gamma, count / (count + 2.0))


cdef class Mixture(Buffers):
    cdef public double[::1] _losses, _totals, _scores, _aggregated, _place
    cdef public double[:, ::1] _sums
    cdef public unsigned char[::1] _untrained
    cdef readonly double gamma
    cdef Py_ssize_t b, n_slots, simplest
    # The baselines; what is mixed, those of it that have weight; and scratch.
    cdef Py_ssize_t n_mixed, n_weighed
    cdef int64_t[::1] baselines, mixed, weighed
    cdef double[::1] experts, shares
    cdef double exact

    # Mix what the slots `live` of models predict from now on, and those from b on.
    cpdef void begin(self, const int64_t[::1] live) noexcept
    # Predict by what all slots predict, within the range of labels, which has this width.
    cdef float predict(self, const double *values, double width) noexcept nogil
    # Learn the label of these values, which were predicted last, of an importance above 0.
    cdef void learn(self, const double *values, Py_ssize_t champion, Row row) noexcept nogil
    # Do both with a row whose models have predicted their `outputs`.
    cpdef void mix(self, Row row) noexcept


# Return the average of slots by their posterior weights, which are written into `shares`. The one
# at place `simplest` has `prior` times the prior of others.
cdef double mean_of(
    const double *outputs, const int64_t *live, Py_ssize_t n, const double *losses, double eta,
    double *shares, Py_ssize_t simplest, double prior,
) noexcept nogil
