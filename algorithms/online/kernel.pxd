"""Declarations of `leaseboard.algorithms.online.kernel`; see there."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t

# The losses as the kernel names them.
cpdef enum:
    SQUARED, LOGISTIC

# The fields of a cell.
cpdef enum:
    WEIGHT, ADAPTIVE, NORMALISED, RATE, FIELDS

# The sums that the normaliser averages.
cdef enum:
    NORM_SUM, WEIGHT_SUM

# The range that predictions are clipped to, which labels extend (`RANGE` at first).
cdef enum:
    LOW, HIGH

cdef extern from *:
    # An integer next to a float would become a double.
    float ONE "1.0f"
    float TWO "2.0f"


# One model, as the steps of learning take it: its part of a `Pool`, with the scratch space.
cdef struct Model:
    float *table
    double *sums
    float *labels
    const int32_t *factors
    const int32_t *cells
    const int32_t *ends
    Py_ssize_t n_terms, order, stride
    float rate
    float *values
    int32_t *places
    float *work


cdef class Pool:
    cdef public float[:, :, ::1] tables
    cdef public double[:, ::1] sums
    cdef public float[:, ::1] labels, values, work
    cdef public float[::1] rates, raws, outputs
    cdef public int32_t[:, :, ::1] factors
    cdef public int32_t[:, ::1] cells, ends, places
    cdef public int64_t[::1] n_terms, counts


cdef void mark_ends(
    const int32_t *factors, Py_ssize_t n_terms, Py_ssize_t order, int32_t *ends
) noexcept nogil
cdef Py_ssize_t gather(const float *example, const Model *model) noexcept nogil
cdef void update(
    Py_ssize_t count, float prediction, float label, float importance, const Model *model, int loss
) noexcept nogil
cdef float look(const float *example, Py_ssize_t slot, Pool pool) noexcept nogil
cdef void take(
    float label, float importance, Py_ssize_t slot, Pool pool, int loss
) noexcept nogil


# What the model predicts of its raw sum: VW's ``finalize_prediction``.
cdef inline float clip(float raw, float low, float high) noexcept nogil:
    raw = low if low > raw else raw
    raw = high if high < raw else raw
    return <float>0 if isnan(raw) else raw
