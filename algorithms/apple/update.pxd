cpdef enum:
    # Places in a learner's `totals`: Σ h and Σ h z² of μ; the labels' range, which VW starts at
    # [0, 0]; examples; non-zero base features, constants counted; non-zero monomials; collisions
    # dropped.
    STEPS, NORM, LOW, HIGH, EXAMPLES, NONZEROS, EMITTED, DROPPED

cdef float add_up(const float *terms, Py_ssize_t n) noexcept nogil
cpdef double invariant_step(double p, double y, double eta, double ppu) noexcept nogil
cdef double learn_adaptive(
    float *w, float *g, float *inverse, const float *v, float *z, Py_ssize_t size,
    float y, float h, double eta, double *totals,
) noexcept nogil


cdef inline double clamp(double p, double low, double high) noexcept nogil:
    """Return `p` within the range of the labels; a NaN stays one."""
    return low if p < low else (high if p > high else p)
