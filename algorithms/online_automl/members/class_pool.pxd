"""Declarations of the pool for classes for kernels; see the module."""

from leaseboard.algorithms.online_automl.members.pool cimport MemberPool


cdef class ClassPool(MemberPool):
    cdef public double[::1] weights, bayes, lost, came
    cdef public double[:, ::1] curvature
    # Room for a chunk: classes, and the average; and for an example: logarithms and experts.
    cdef double[::1] _classes, _average, _logs, _experts

    cdef void take(
        self, const double *today, const float *examples, const double *classes,
        const float *worths, Py_ssize_t n, double *found,
    ) noexcept nogil
    cdef void average(
        self, const double *today, const double *members, Py_ssize_t stride, Py_ssize_t number,
        double worth, double *found,
    ) noexcept nogil
    cdef void weigh(self, double *shown, double worth) noexcept nogil
