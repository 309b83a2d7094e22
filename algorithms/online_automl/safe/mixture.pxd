from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.expansion cimport Block

cpdef enum:
    MASS = 0  # the fields of `Mixture.totals`
    COUNT = 1
    FIRST = 2
    LOST = 3
    SHARE_OF_BOUND = 4
    N_TOTALS = 5

cpdef enum:  # the columns of `Mixture.sums`
    ADVANTAGE, SQUARES, LOSS, LOSS_SQUARES


cdef class Mixture(Buffers):
    cdef double *losses
    cdef double *totals
    cdef double *scores
    cdef double *sums
    cdef double *aggregated
    cdef double *place
    cdef unsigned char *untrained
    cdef readonly double gamma
    cdef Py_ssize_t b, n_slots, n_baselines
    # What is mixed in a block, those of it that have weight, and scratch.
    cdef Py_ssize_t n_mixed, n_weighed
    cdef int64_t *baselines
    cdef int64_t *mixed
    cdef int64_t *weighed
    cdef double *experts
    cdef double *shares
    cdef double exact
    cdef object _numbers, _room

    # Begin a block: `live` are the slots of models, after which come those from b on.
    cdef void begin(self, const int64_t *live, Py_ssize_t n_live) noexcept nogil
    # Predict by a row of what all slots predict, within the range of labels.
    cdef float predict(self, const double *row) noexcept nogil
    # Learn the label of the row that was predicted last, of an importance above 0.
    cdef void learn(
        self, const double *row, Py_ssize_t champion, float prediction, double label,
        double shown, double low, double high, double importance,
    ) noexcept nogil
    # Do all three with a block whose models have predicted their `outputs`.
    cdef void mix(
        self, Block block, const int64_t *live, Py_ssize_t n_live, Py_ssize_t champion,
        bint learns,
    ) noexcept nogil


# Return the average of slots by their posterior weights, which are written into `shares`.
cdef double mean_of(
    const double *outputs, const int64_t *live, Py_ssize_t n, const double *losses, double eta,
    double *shares,
) noexcept nogil
