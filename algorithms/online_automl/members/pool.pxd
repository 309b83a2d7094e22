"""Declarations of pools of members for kernels; see the module."""

from leaseboard.algorithms.online_automl.members.member cimport Chunk, Member
from leaseboard.algorithms.online_automl.safe.expansion cimport Block, Members

cpdef enum:
    N_MEMBERS = 3
    N_STACKED = 4  # today's prediction and the members
    N_EXPERTS = 5  # and their stack

cdef enum:
    CHUNK = 64  # examples that go through members and stack at a time
    AWAKE = 0  # columns of `Leases.table`
    SAVED = 4


cdef class MemberPool(Members):
    cdef readonly Py_ssize_t n_features, n_classes
    cdef public Py_ssize_t at
    cdef public Member trees, fourier, neighbours
    cdef public object leases
    cdef public double[:, ::1] moments
    cdef public double[::1] seen
    # The leases' arrays, and after how many examples they or trees are due.
    cdef double[:, ::1] _leases
    cdef double[::1] _lost
    cdef Py_ssize_t _due
    # The example that was looked at last, if nothing was learned since, and what they said of it.
    cdef bint _looked
    cdef float[::1] _example
    cdef double[::1] _said
    # Room for a chunk: standardised rows, today's prediction, what each member says, no worths.
    cdef double[::1] _standard, _today
    cdef double[:, :, ::1] _found
    cdef float[::1] _nothing

    cdef Py_ssize_t part(self, Py_ssize_t start, Py_ssize_t n, bint learns) noexcept nogil
    cdef int count(self, Py_ssize_t n) except -1
    cdef bint any_awake(self) noexcept nogil
    cdef void ask(self, Chunk *chunk) noexcept
    cdef void consult(self, Block block, Py_ssize_t start, Py_ssize_t stop) noexcept
