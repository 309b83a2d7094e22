from libc.stdint cimport int64_t


cdef class TextEffects:
    cdef readonly object columns
    cdef const int64_t[::1] _columns
    cdef dict places
    cdef double[:, ::1] sums
    # Of each column the place of its code in the last example; -1 if it has none.
    cdef int64_t[::1] _at

    # Write an example with effects in place of codes.
    cdef int express(self, const float[::1] given, float[::1] shown) except -1
    # Learn by how much the label of the last one was above the mean.
    cdef int learn(self, const float[::1] given, double above, double importance) except -1
