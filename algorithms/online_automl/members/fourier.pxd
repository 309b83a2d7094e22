"""Declarations of the ridge regression on cosines for kernels; see the module."""


cdef class FourierRidge:
    cdef public object seed
    cdef public Py_ssize_t n_features, n_classes
    cdef public double[::1] scale, first, phases, cosines
    cdef public double[:, ::1] directions, weights
    cdef double[:, ::1] _inverse
    cdef double[::1] _gain, _before, _said

    cdef void take(
        self, const double *rows, const double *targets, const float *worths, Py_ssize_t n,
        bint again, double *found,
    ) noexcept nogil
    cdef void write_cosines(self, const double *row, double *x) noexcept nogil


cdef double shrink(
    const double *x, double worth, double *inverse, const double *before, double *gain,
    Py_ssize_t n, Py_ssize_t width,
) noexcept nogil
cdef void take_out(
    double *inverse, const double *gain, Py_ssize_t n, Py_ssize_t width
) noexcept nogil
