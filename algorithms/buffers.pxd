from libc.stdint cimport int64_t

cdef class Buffers:
    cdef readonly dict arrays
    cdef double *doubles(self, str name) except NULL
    cdef float *floats(self, str name) except NULL
    cdef int64_t *numbers(self, str name) except NULL
    cdef unsigned char *flags(self, str name) except NULL
    cdef int locate(self) except -1


cdef void *place_of(array, str code) except NULL
