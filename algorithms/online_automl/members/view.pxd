"""Declarations of what trees see for kernels; see the module."""

from libc.stdint cimport int64_t


cdef class TreeView:
    cdef readonly object features, codes, effects
    cdef readonly Py_ssize_t n_columns
    cdef public list texts
    cdef const int64_t[::1] _features, _codes
    cdef const int64_t[:, ::1] _effects
    cdef float[::1] _ranks, _seen

    # Return what trees see of an example: itself, where that is all.
    cdef const float *see(self, const float *example) except NULL
