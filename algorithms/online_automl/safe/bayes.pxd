from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.expansion cimport Row

cpdef enum:
    # The experts: how often the class came; how often after the label before, and after the one a
    # season ago; the logistic regression; c_init; the mixture; and the stack of them.
    FREQUENCY, AFTER_LAST, AFTER_SEASON, LOGISTIC, INITIAL, MIXTURE, STACK, N_EXPERTS
    N_BASELINES = 5  # the first of them, which are naive baselines
    MIXED = 7  # the last fields of `LogOdds.lost`
    EXCESS = 8
    INPUTS = 7  # of the stack: a constant, five logits, and the last label


cpdef double average(const double[::1] probabilities, const double[::1] state) noexcept nogil
cpdef void learn(
    double[::1] probabilities, double worth, double[::1] state, double[::1] lost,
    Py_ssize_t n_baselines,
) noexcept nogil
cdef void scale(double *values, Py_ssize_t n, double least) noexcept nogil
cpdef void one_vs_rest(const double[::1] margins, double[::1] found) noexcept


cdef class LogOdds(Buffers):
    cdef Py_ssize_t b
    cdef public double[::1] _recent, _errors, _weights, _bayes, _lost
    cdef public double[:, ::1] _covariance, _counts
    cdef double[::1] inputs, probabilities, shares

    # Replace the prediction of a row by log odds, then learn its label.
    cpdef void take(self, Row row) noexcept
