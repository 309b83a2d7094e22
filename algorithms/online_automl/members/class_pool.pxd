"""Declarations of the pool for classes for kernels; see the module."""

from leaseboard.algorithms.online_automl.members.member cimport Chunk
from leaseboard.algorithms.online_automl.members.pool cimport MemberPool


cdef class ClassPool(MemberPool):
    cdef public double[::1] weights, bayes, lost, came
    cdef public double[:, ::1] curvature
    # Room for a chunk: classes, and the average; and for an example: logarithms, experts, and what
    # these gave the class that came.
    cdef double[::1] _classes, _average, _logs, _experts, _shown

    cdef void take(self, const double *today, Chunk chunk, double *found) noexcept
    cdef void average(
        self, const double *today, Py_ssize_t t, Py_ssize_t number, double worth, double *found
    ) noexcept nogil
