"""Blocks of examples, taken apart into single ones and answered as River answers them.

River stays optional: without it the models work the same, except for what River gives its
estimators (``clone``, ``mutate``, ``|`` and others). Its base classes load in milliseconds.
"""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.values import seconds_of, unique_names

MiniBatchRegressor: Any = object
MiniBatchClassifier: Any = object
with suppress(ImportError):  # also of a river.py of the user's
    river = import_module("river.base")
    MiniBatchRegressor, MiniBatchClassifier = river.MiniBatchRegressor, river.MiniBatchClassifier


def is_frame(X: Any) -> bool:
    """Return whether `X` is a DataFrame, whose columns have names."""
    return hasattr(X, "columns")


def examples_of(X: Any) -> list[dict[Hashable, Any]]:
    """Return the rows of a DataFrame, or of an array, whose columns are called 0, 1, 2..."""
    if is_frame(X):
        # pandas is heavy
        from leaseboard.algorithms.tables.column_types import standard_types, with_dates

        unique_names(X.columns)
        records: list[dict[Hashable, Any]] = with_dates(standard_types(X)).to_dict("records")
        return records
    given = np.asarray(X)
    if given.dtype.kind == "m":
        given = seconds_of(given)
    if given.shape == (0,):
        return []
    if given.dtype.kind not in "fiub" or given.ndim != 2:
        raise UsageError(
            f"a block of shape {given.shape} and type {given.dtype} must hold numbers and be of"
            " shape (n_examples, n_features): make a DataFrame of other values, or use learn_one"
        )
    names = list(map(str, range(given.shape[1])))
    return [dict(zip(names, row, strict=True)) for row in given.tolist()]


def in_kind(X: Any, answers: Sequence[Any] | NDArray[Any]) -> Any:
    """Return one answer a row: for a DataFrame a Series with its index, for an array an array."""
    if is_frame(X):
        import pandas as pd  # heavy, and callers with a DataFrame have loaded it

        return pd.Series(answers, index=X.index)
    return np.asarray(answers)


def shares_in_kind(
    X: Any, rows: Sequence[Mapping[Hashable, float]], classes: Sequence[Any]
) -> Any:
    """Return a DataFrame with a row for each of `X` and a column for each class."""
    import pandas as pd

    return pd.DataFrame(rows, index=getattr(X, "index", None), columns=list(classes))
