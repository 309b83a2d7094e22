"""Declarations of nearest neighbours for kernels; see the module."""


cdef class Neighbours:
    cdef public Py_ssize_t n_features, n_classes
    cdef public float[:, ::1] window
    cdef public double[::1] targets, worths, seen
    cdef float[::1] _distances, _least

    cdef void take(
        self, const double *rows, const double *targets, const float *worths, Py_ssize_t n,
        bint again, double *found,
    ) noexcept nogil
    cdef void predict(self, const double *row, Py_ssize_t k, double *found) noexcept nogil
    cdef Py_ssize_t find(self, const double *row, Py_ssize_t *nearest) noexcept nogil
    cdef void measure(self, const double *row, Py_ssize_t held, float *distances) noexcept nogil
