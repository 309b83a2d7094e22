"""Declarations of the mixture of many classes for kernels; see the module."""

cpdef enum:
    N_RATES = 2
    N_POOLED = 3  # the races and the softmax regressions
    N_EXPERTS = 6  # their pool, the classes' frequencies, and those after the class before


cdef class OnlineSoftmax:
    cdef public double rate
    cdef public double[:, ::1] weights, squares, moments
    cdef public double[::1] seen
    cdef double[::1] _row, _said

    cdef void ask(self, const float *example) noexcept nogil
    cdef void step(self, const float *example, Py_ssize_t number, double importance) noexcept nogil


cdef class ClassMixture:
    cdef readonly Py_ssize_t n_classes
    cdef public Py_ssize_t last
    cdef public double[::1] bayes, weights
    cdef public double[:, ::1] counts, curvature
    cdef public list regressions
    cdef OnlineSoftmax _first, _second
    cdef double[::1] _logs, _experts, _pooled

    cdef void take(
        self, const double *own, const float *example, Py_ssize_t number, double importance,
        bint learns, double *found,
    ) noexcept nogil
    cdef void count_class(self, Py_ssize_t number, double importance) noexcept nogil
