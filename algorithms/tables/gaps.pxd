"""Imputation of missing numbers; see `leaseboard.algorithms.tables.gaps`."""

cdef void fill_row(float *row, double *state, Py_ssize_t n, bint learns) noexcept nogil
