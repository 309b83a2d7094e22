"""Imputation of missing numbers by the rows before, never by later ones.

The value before the gap is drawn towards the mean of the column's values so far:

    imputed value = mean + r · (value before - mean)

where r, within 0 and 1, is the correlation of a value with the one before it. Where neighbours
have nothing in common that is the running mean (r = 0); in a column that moves slowly it is the
last value (r = 1), and in a gap of many rows, each of which takes the imputed value before for
the value before, it goes from the last value to the mean.

In addition an *indicator*, a feature that is 1 in the gaps of a column, shows models that a value
is missing. It helps where that says something, and costs where many columns have gaps by chance:
so there is at most one for every `FEW` columns.
"""

import numpy as np

FEW = 4
"""One column in so many may have an indicator of its gaps."""

MISSING = "missing"
"""Part of a column that marks its gaps."""

def new_gaps(Py_ssize_t n_columns):
    """Return the state of columns of which nothing was seen."""
    return np.zeros((N_FIELDS, n_columns))


def indicator(name):
    """Return the name of the feature that is 1 where column `name` has a gap."""
    return f"{name} is {MISSING}"


def fill_gaps(float[:, ::1] rows, double[:, ::1] state, bint learns):
    """Put a number in the place of each NaN.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, n_columns)
        Written.
    state : ndarray of float64, shape (6, n_columns)
        Written if it `learns`; otherwise each of the rows is taken for the next one.
    learns : bool

    Examples
    --------
    >>> rows = np.array([[1.0], [3.0], [np.nan]], dtype=np.float32)
    >>> fill_gaps(rows, new_gaps(1), learns=True)
    >>> rows.tolist()
    [[1.0], [3.0], [2.0]]
    """
    cdef Py_ssize_t n = rows.shape[1]
    if state.shape[0] != N_FIELDS or state.shape[1] != n:
        raise ValueError(f"gaps of {state.shape[1]} columns, not of {n}")
    with nogil:
        for i in range(rows.shape[0]):
            fill_row(&rows[i, 0], &state[0, 0], n, learns)
