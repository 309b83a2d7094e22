"""Declarations of `leaseboard.algorithms.online.kernel`; see there."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from leaseboard.algorithms.elementary cimport exp32

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
    """
    #include <float.h>
    #include <stdlib.h>
    #define LB_X_MIN 1.084202e-19f
    #define LB_X2_MIN (LB_X_MIN * LB_X_MIN)
    """
    # VW's limits of a feature and of its square.
    const float X_MIN "LB_X_MIN"
    const float X2_MIN "LB_X2_MIN"
    const float X2_MAX "FLT_MAX"
    # An integer next to a float would become a double.
    float ONE "1.0f"
    float TWO "2.0f"
    void *aligned_alloc(size_t alignment, size_t size) noexcept nogil


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    /* Eight numbers, and eight truth values: operators take them lane by lane. */
    #define LB_VECTOR 8
    typedef float lb_vector __attribute__((vector_size(4 * LB_VECTOR)));
    typedef int32_t lb_mask __attribute__((vector_size(4 * LB_VECTOR)));
    """
    enum:
        VECTOR "LB_VECTOR"
    ctypedef float Vector "lb_vector"


# A term of models in lanes, see `leaseboard.algorithms.online.placement`.
cdef struct Term:
    Vector weight, adaptive, normalised, inverse, rate, value


# Models in the lanes of one vector, see there.
cdef struct Group:
    Vector low, high, learning_rate, raw, exceeds
    Term *terms
    Term **active
    uint32_t *numbers
    Py_ssize_t n_models, n_terms, n_active
    int64_t[8] slots
    double[8] norms, weights


# All models in lanes.
cdef struct Lanes:
    Py_ssize_t n_groups, n_columns, n_products, order
    Group *groups
    uint32_t *products
    float *values


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
    cdef public unsigned char[::1] plain
    # Models in lanes, the slots of those in none, and both; see
    # `leaseboard.algorithms.online.placement`.
    cdef Lanes lanes
    cdef int64_t *single
    cdef int64_t *live
    cdef readonly Py_ssize_t n_single
    cdef Py_ssize_t n_live, n_columns
    cdef readonly bint entered
    cdef bint looked


cdef float logistic_update(
    float prediction, float label, float scale, float per_update
) noexcept nogil
cdef float look(const float *example, Py_ssize_t slot, Pool pool) noexcept nogil
cdef void take(
    float label, float importance, Py_ssize_t slot, Pool pool, int loss
) noexcept nogil
cdef void free_lanes(Pool pool) noexcept nogil


# What the model predicts of its raw sum: VW's ``finalize_prediction``.
cdef inline float clip(float raw, float low, float high) noexcept nogil:
    raw = low if low > raw else raw
    raw = high if high < raw else raw
    return <float>0 if isnan(raw) else raw


# Return the square of the loss's derivative; 0 if VW's loss is 0, and so no update.
cdef inline float gradient_squared(int loss, float prediction, float label) noexcept nogil:
    cdef float error, against, derivative
    if loss == SQUARED:
        error = prediction - label
        return <float>0 if error * error <= 0 else TWO * TWO * error * error
    against = exp32(-label * prediction)
    if ONE + against <= ONE:
        return 0
    derivative = -label / (ONE + exp32(label * prediction))
    return derivative * derivative


# Return the importance-invariant step (Karampatziakis and Langford 2011, table 1); `scale` is the
# learning rate times the importance, `per_update` how much an update of 1 moves the prediction.
cdef inline float invariant_update(
    int loss, float prediction, float label, float scale, float per_update
) noexcept nogil:
    cdef float decay
    if loss == LOGISTIC:
        return logistic_update(prediction, label, scale, per_update)
    if scale * per_update < 1e-6:  # there VW takes the first term of the series
        return TWO * (label - prediction) * scale
    decay = ONE - exp32(-TWO * scale * per_update)
    return (label - prediction) * decay / per_update


# Return so many zeros of a size, where vectors may begin.
cdef inline void *room(size_t count, size_t size) except NULL nogil:
    cdef size_t bytes = (count * size + 64) & ~<size_t>63
    cdef void *found = aligned_alloc(64, bytes)
    if found == NULL:
        with gil:
            raise MemoryError()
    return memset(found, 0, bytes)
