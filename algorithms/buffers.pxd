cdef class Buffers:
    cdef readonly dict arrays
