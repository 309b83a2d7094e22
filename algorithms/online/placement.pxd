"""Declarations of `leaseboard.algorithms.online.placement`; see there."""

from libc.stdint cimport int64_t

from leaseboard.algorithms.online.kernel cimport Pool

cdef int place(
    Py_ssize_t n_columns, const int64_t *live, Py_ssize_t n_live, Pool pool
) except -1 nogil
cdef void take_one(
    const float *example,
    float target,
    float importance,
    Pool pool,
    int loss,
    bint learns,
    bint looked,
    float *predictions,
) noexcept nogil
