# Examples that go through members together: raw and standardised rows, numbers or the numbers of
# their classes, and importances, of which 0 teaches nothing.
cdef struct Chunk:
    const float *examples
    const double *standard
    const double *targets
    const float *worths
    Py_ssize_t n
    bint again  # whether the only example was predicted just before, and what that computed is there


cdef class Member:
    cdef public object seed
    cdef readonly Py_ssize_t n_features, n_classes

    # Learn a chunk; overwrite what is predicted of each example and output before its label.
    cdef void take(self, const Chunk *chunk, double *found) noexcept nogil
