"""Declarations of what trees see for kernels; see the module."""

from libc.stdint cimport int64_t


cdef class TreeView:
    cdef readonly object features, effects
    cdef readonly Py_ssize_t n_columns
    cdef list texts
    cdef const int64_t[::1] _features
    cdef const int64_t[:, ::1] _effects
    cdef float[::1] _seen

    # Return what trees see of an example: the example itself, if there are no effects.
    cdef const float *see(self, const float *example) except NULL
