from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.expansion cimport Block

cpdef enum:
    # The experts: how often the class came; how often after the label before, and after the one a
    # season ago; the logistic regression; c_init; the mixture; and the stack of them.
    FREQUENCY = 0
    AFTER_LAST = 1
    AFTER_SEASON = 2
    LOGISTIC = 3
    INITIAL = 4
    MIXTURE = 5
    STACK = 6
    N_EXPERTS = 7
    N_BASELINES = 5  # the first of them, which are naive baselines
    MIXED = 7  # the last fields of `LogOdds.lost`
    EXCESS = 8
    INPUTS = 7  # of the stack: a constant, five logits, and the last label


cdef class LogOdds(Buffers):
    cdef Py_ssize_t b
    cdef double *recent
    cdef double *errors
    cdef double *weights
    cdef double *covariance
    cdef double *counts
    cdef double *bayes
    cdef double *lost
    cdef double inputs[INPUTS]
    cdef double probabilities[N_EXPERTS]
    cdef object _room
    cdef double *shares

    # Replace each prediction of a block by log odds, then learn its label.
    cdef void take(
        self, Block block, const int64_t *live, Py_ssize_t n_live, Py_ssize_t champion, bint learns
    ) noexcept nogil
    cdef double _predict(
        self, const double *values, const int64_t *live, Py_ssize_t n_live, Py_ssize_t champion,
        double prediction,
    ) noexcept nogil
    cdef void _learn(
        self, const double *values, const int64_t *live, Py_ssize_t n_live, double label,
        double importance,
    ) noexcept nogil
