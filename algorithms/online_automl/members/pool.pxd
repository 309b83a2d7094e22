"""Declarations of pools of members for kernels; see the module."""

from leaseboard.algorithms.online_automl.members.view cimport TreeView
from leaseboard.algorithms.online_automl.safe.expansion cimport Row
from leaseboard.algorithms.online_automl.safe.mixture cimport Mixture

cpdef enum:
    N_MEMBERS = 4
    N_STACKED = 5  # today's prediction and the members
    N_EXPERTS = 6  # and their stack


cdef class MemberPool:
    cdef readonly Py_ssize_t n_features, n_classes
    cdef readonly TreeView view
    cdef public Py_ssize_t at
    cdef public list members
    cdef public bint boosts
    cdef public object leases
    cdef public double[:, ::1] moments
    cdef public double[::1] seen
    # The leases' arrays, and after how many examples they or a member are due.
    cdef double[:, ::1] _leases
    cdef double[::1] _losses
    cdef Py_ssize_t _due
    # The example that was looked at last, if nothing was learned since; the same standardised, and
    # what each member says.
    cdef bint _looked
    cdef float[::1] _example
    cdef double[::1] _standard
    cdef double[:, ::1] _found

    # Replace today's prediction of a row by what all say; learn it if it `learns`.
    cdef int answer(self, Row row) except -1
    # Do so without counting.
    cdef void consult(self, Row row) noexcept
    cdef int count(self) except -1


cdef class NumberPool(MemberPool):
    cdef public double[::1] weights, noise
    cdef public double[:, ::1] covariance
    cdef public Mixture known


cdef class ClassPool(MemberPool):
    cdef public double[::1] weights, bayes, lost, came
    cdef public double[:, ::1] curvature
    # Room for an example: logarithms, experts, and what these gave the class that came.
    cdef double[::1] _logs, _experts, _shown

    # Write the probabilities of all classes, given today's; learn the class called `number`.
    cdef void take(
        self, const double *today, const float *example, Py_ssize_t number, double worth,
        double *found,
    ) noexcept
