"""Declarations of `leaseboard.algorithms.online.lanes`; see there."""

from libc.stdint cimport int64_t

from leaseboard.algorithms.online.kernel cimport Lanes, Pool

cdef int enter(
    const int64_t *joined, Py_ssize_t count, Pool pool, Py_ssize_t n_columns
) except -1 nogil
cdef void leave(Pool pool) noexcept nogil
cdef void look_all(const float *example, Lanes *lanes, float *predictions) noexcept nogil
cdef void learn_all(float label, float importance, int loss, Lanes *lanes) noexcept nogil
