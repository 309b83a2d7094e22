"""Reading of one example; see `leaseboard.algorithms.tables.row_reader`."""


cdef class RowReader:
    cdef float *row  # of the example that was read last
    cdef Py_ssize_t n_features
    cdef readonly object example
    cdef double[:, ::1] _gaps
    cdef dict _numbers
    cdef object _column_of_text
    cdef readonly dict texts
    # Of each place in an example: the key that was there last, its name's column and texts.
    cdef list _keys
    cdef list _texts_at
    cdef Py_ssize_t[::1] _columns
    # Of each column: the example in which it came last.
    cdef unsigned long long[::1] _came
    cdef unsigned long long _number

    cpdef bint read(self, object example) except -1
    cpdef void learn_gaps(self) noexcept
