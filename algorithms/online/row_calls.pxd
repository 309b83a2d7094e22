"""What predicts and learns one example after another; see `leaseboard.algorithms.online.kernel_models`."""


cdef class RowCalls:
    # What `learn_row` predicted before.
    cdef readonly double said
    # Predict the example in the row.
    cdef double predict_row(self) except? -1
    # Learn it; return whether a decision is due.
    cdef bint learn_row(self, double label, double importance) except -1
