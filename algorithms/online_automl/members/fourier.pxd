"""Recursion of an inverse for kernels; see `leaseboard.algorithms.online_automl.members.fourier`."""

cdef double shrink(
    const double *x, double worth, double *inverse, const double *before, double *gain,
    Py_ssize_t n, Py_ssize_t width,
) noexcept nogil
