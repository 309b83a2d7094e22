"""Declarations of random trees for kernels; see the module."""

from libc.stdint cimport int32_t, uint32_t


cdef class RandomTrees:
    cdef public object seed
    cdef public Py_ssize_t n_features, n_classes
    cdef public int32_t[:, :, ::1] inner
    cdef public float[:, :, ::1] nodes
    cdef public uint32_t[:, ::1] path
    cdef public double[::1] totals
    cdef public float[:, ::1] buffer
    cdef double[::1] _room
    cdef float[::1] _gradient

    cdef void take(
        self, const float *rows, const double *targets, const float *worths, Py_ssize_t n,
        bint again, double *found,
    ) noexcept nogil
    cdef void _descend(self, const float *row, double *scores) noexcept nogil
    cdef void _step(self, double more, double worth) noexcept nogil
    cdef double rate(self) noexcept nogil


cdef void soften(const double *scores, double *chances, Py_ssize_t n) noexcept nogil
