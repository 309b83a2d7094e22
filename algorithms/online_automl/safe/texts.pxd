from libc.stdint cimport int64_t


cdef class TextEffects:
    cdef readonly Py_ssize_t n_columns, slots
    cdef readonly object origins, shares
    cdef const int64_t[::1] _codes, _effects
    cdef const int64_t[:, ::1] _own
    cdef double[:, :, ::1] _sums
    # Of each column the place of the last example's text in its sums; -1 if it has none.
    cdef int64_t[::1] _at
    # And that text's effect.
    cdef readonly double[::1] found

    # Write an example with the effects of its texts, after so many were learned.
    cdef void write(
        self, const float[::1] example, float[::1] written, double seen
    ) noexcept nogil
    # Learn by how much the label of the last one was above the mean.
    cdef void learn(self, double above, double importance, double seen) noexcept nogil
