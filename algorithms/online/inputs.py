"""What people hand in for labels, importances and blocks, checked before anything is learned."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import UsageError
from algorithms.online.features import LARGEST, Key


def regression_label(y: Any) -> float:
    """A regressor's label as a number; TypeError or ValueError if it is none."""
    if type(y) is float and -LARGEST <= y <= LARGEST:
        return y
    if isinstance(y, (bool, np.bool_)) or not isinstance(y, Real):
        raise TypeError(f"label {y!r} is a {type(y).__name__}: a regressor learns numbers")
    if not abs(float(y)) <= LARGEST:
        raise ValueError(f"label {y!r} must be finite in 32 bits: leave the example out")
    return float(y)


def importance_of(w: Any) -> float:
    """An importance as a number; ValueError if it is negative or not finite."""
    if type(w) is float and 0.0 <= w <= LARGEST:
        return w
    if not isinstance(w, Real) or not 0 <= float(w) <= LARGEST:
        raise ValueError(f"importance {w!r} must be a finite number >= 0")
    return float(w)


def numeric_block(X: Any) -> tuple[list[Key], NDArray[np.float32]]:
    """The keys of the columns of `X`, and its values; ValueError if they cannot be learned."""
    names = getattr(X, "columns", None)
    if any(getattr(dtype, "kind", "") in "mM" for dtype in getattr(X, "dtypes", ())):
        raise UsageError(_not_numeric(X))  # NumPy would take times for numbers
    try:
        block = np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(_not_numeric(X)) from error
    if block.ndim != 2:
        raise ValueError(f"a block of shape {block.shape} must be (n_examples, n_features)")
    if not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(
            f"example {row} has a value in column {column} that is not finite: impute it"
        )
    keys = [("", str(name)) for name in (range(block.shape[1]) if names is None else names)]
    return keys, block


def _not_numeric(X: Any) -> str:
    """Why `X` is no block of numbers: its first column that is none, where columns have names."""
    for name in getattr(X, "columns", ()):
        column = np.asarray(X[name])
        try:
            column.astype(np.float32)
        except (TypeError, ValueError):
            numeric = False
        else:
            numeric = column.dtype.kind not in "mM"
        if not numeric:
            return (
                f"column {str(name)!r} holds {X[name].dtype} and no numbers: drop or encode it,"
                " or learn examples with texts by learn_one"
            )
    return "a block must hold numbers, in rows of equal length: encode the texts, or use learn_one"
