"""Declarations of the pool for numbers for kernels; see the module."""

from leaseboard.algorithms.online_automl.members.pool cimport MemberPool
from leaseboard.algorithms.online_automl.safe.mixture cimport Mixture


cdef class NumberPool(MemberPool):
    cdef public double[::1] weights, noise
    cdef public double[:, ::1] covariance
    cdef public Mixture known

    cdef void stack(
        self, double *values, double shown, double low, double high, double worth
    ) noexcept nogil
