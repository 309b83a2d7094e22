"""Imputation of missing numbers; see `leaseboard.algorithms.tables.gaps`."""

cdef enum:
    # Of each column: how many values, their mean, the value of the row before (imputed in a gap),
    # whether that was not imputed, and the sums of which r is the ratio.
    COUNT, MEAN, BEFORE, FOLLOWS, SQUARES, PRODUCTS, N_FIELDS


cdef inline void fill_row(float *row, double *state, Py_ssize_t n, bint learns) noexcept nogil:
    """Put a number in the place of each NaN of a row; see `fill_gaps`."""
    cdef bint missing
    for j in range(n):
        value, mean = <double>row[j], state[MEAN * n + j]
        missing = value != value
        # Fill a gap.
        if missing:
            squares, r = state[SQUARES * n + j], 0.0
            if squares > 0.0:
                r = min(max(state[PRODUCTS * n + j] / squares, 0.0), 1.0)
            value = mean + r * (state[BEFORE * n + j] - mean)
            row[j] = <float>value
        if not learns:
            continue
        # Learn a value: its correlation with the one before, and the mean.
        if not missing:
            if state[FOLLOWS * n + j] > 0.0:
                state[SQUARES * n + j] += (value - mean) * (value - mean)
                state[PRODUCTS * n + j] += (value - mean) * (state[BEFORE * n + j] - mean)
            state[COUNT * n + j] += 1.0
            state[MEAN * n + j] += (value - mean) / state[COUNT * n + j]
        state[BEFORE * n + j] = value
        state[FOLLOWS * n + j] = 0.0 if missing else 1.0
