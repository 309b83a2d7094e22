"""Declarations of `leaseboard.algorithms.online.kernel`; see there."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from leaseboard.algorithms.buffers cimport Buffers

# The losses.
cpdef enum:
    SQUARED, LOGISTIC

# The fields of a term: those of a cell of VW's table, one over the third, and the value that it
# has in the example.
cpdef enum:
    WEIGHT, ADAPTIVE, NORMALISED, RATE, INVERSE, VALUE, FIELDS

# What a model has but once: the range of labels, which predictions are clipped to, its learning
# rate, what it predicts before it is clipped, and by how much a value exceeds the largest so far.
cpdef enum:
    LOW, HIGH, LEARNING_RATE, RAW, EXCEEDS, ONCE

# The sums that the normaliser averages.
cpdef enum:
    NORM_SUM, WEIGHT_SUM

cpdef enum:
    LANES = 8


cdef class Pool(Buffers):
    cdef readonly int loss
    cdef readonly Py_ssize_t n_slots
    # Whether the models have looked at an example, and nothing has changed since.
    cdef public bint looked
    cdef public float[:, :, :, ::1] _terms
    cdef public float[:, :, ::1] _once
    cdef public double[:, :, ::1] _sums
    cdef public uint32_t[:, :, :, ::1] _numbers
    cdef public int32_t[:, :, ::1] _before
    cdef public uint8_t[:, ::1] _again
    cdef public Py_ssize_t[:, ::1] _sizes, _active
    cdef public Py_ssize_t[::1] _n_terms, _n_single, _n_active, _n_again
    cdef public float[::1] _values, _outputs

    # Write what each model predicts for an example; what it predicted if it was `looked` at, and
    # nothing has changed since, is not computed again.
    cdef void look(self, const float *example, bint looked, float *predictions) noexcept nogil
    # Let all models learn the example that they looked at last.
    cdef void take(self, float label, float importance) noexcept nogil


cdef class RowCalls:
    cdef readonly float[::1] example
    # What `learn_row` predicted before, and whether a decision is due since.
    cdef readonly double said
    cdef readonly bint due
    cdef float[::1] last
    # Note the example in the row; return whether it is the one that was noted before.
    cdef bint repeats(self) noexcept
    # Predict the example in the row.
    cdef double predict_row(self) except? -1
    # Learn it; return whether a decision is due.
    cdef bint learn_row(self, double label, double importance) except -1
