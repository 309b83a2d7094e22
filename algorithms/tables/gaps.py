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

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats

FEW = 4
"""One column in so many may have an indicator of its gaps."""

MISSING = "missing"
"""Part of a column that marks its gaps."""

COUNT, MEAN, BEFORE, FOLLOWS, SQUARES, PRODUCTS = range(6)
"""Of each column: how many values, their mean, the value of the row before (imputed in a gap),
whether that was not imputed, and the sums of which r is the ratio."""


def new_gaps(n_columns: int) -> Doubles:
    """Return the state of columns of which nothing was seen."""
    return np.zeros((PRODUCTS + 1, n_columns))


def indicator(name: str) -> str:
    """Return the name of the feature that is 1 where column `name` has a gap."""
    return f"{name} is {MISSING}"


@compiled
def fill_gaps(rows: Floats, state: Doubles, learns: bool) -> None:
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
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value, mean = np.float64(rows[i, j]), state[MEAN, j]
            missing = np.isnan(value)
            # Fill a gap.
            if missing:
                squares, r = state[SQUARES, j], 0.0
                if squares > 0.0:
                    r = min(max(state[PRODUCTS, j] / squares, 0.0), 1.0)
                value = mean + r * (state[BEFORE, j] - mean)
                rows[i, j] = value
            if not learns:
                continue
            # Learn a value: its correlation with the one before, and the mean.
            if not missing:
                if state[FOLLOWS, j] > 0.0:
                    state[SQUARES, j] += (value - mean) ** 2
                    state[PRODUCTS, j] += (value - mean) * (state[BEFORE, j] - mean)
                state[COUNT, j] += 1.0
                state[MEAN, j] += (value - mean) / state[COUNT, j]
            state[BEFORE, j] = value
            state[FOLLOWS, j] = 0.0 if missing else 1.0
