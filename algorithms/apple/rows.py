"""Examples in rows: checked once, then dense or sparse, as suits the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.benches.holdout import Rows
from leaseboard.algorithms.errors import DataError

DENSE_ENOUGH = 1 / 3
"""Rows fuller than this are kept dense: a plan's product costs a third of a table look-up."""

LARGEST_LABEL = 1e15
"""The squared gradient of a larger label leaves float32."""


def as_rows(matrix: Any, density: float = DENSE_ENOUGH) -> Rows:
    """`matrix` in the form that the kernels read, dense where it is fuller than `density`.

    Parameters
    ----------
    matrix : array or sparse matrix, shape (n_examples, n_variables)
    density : float

    Raises
    ------
    DataError
        If a value is missing or infinite, as float32 has it.
    """
    with np.errstate(over="ignore"):
        if sparse.issparse(matrix):
            rows = sparse.csr_array(matrix, dtype=np.float32)
            rows.sum_duplicates()
            values = rows.data
        else:
            rows = np.ascontiguousarray(matrix, dtype=np.float32)
            values = rows
    _check_finite(values, rows)
    n_cells = max(1, rows.shape[0] * rows.shape[1])
    full = np.count_nonzero(values) / n_cells > density
    if sparse.issparse(rows):
        return rows.toarray() if full else rows
    return rows if full else sparse.csr_array(rows)


def check_labels(labels: NDArray[Any]) -> NDArray[np.float32]:
    """`labels` as float32.

    Raises
    ------
    DataError
        If a label is outside the domain of the squared loss in float32.
    """
    bad = np.flatnonzero(~(np.abs(labels) <= LARGEST_LABEL))
    if len(bad):
        raise DataError(
            f"label {labels[bad[0]]} of row {bad[0]} is outside the squared loss's domain:"
            f" labels must be finite and at most {LARGEST_LABEL:g} in magnitude; rescale them"
        )
    return np.asarray(labels, dtype=np.float32)


def _check_finite(values: NDArray[np.float32], rows: Rows) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        return
    if sparse.issparse(rows):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        column = int(rows.indices[bad[0]])
    else:
        row, column = divmod(int(bad[0]), rows.shape[1])
    raise DataError(
        f"feature {column} of row {row} is {values.ravel()[bad[0]]} in float32:"
        " features must be finite; impute missing values and rescale huge ones"
    )
