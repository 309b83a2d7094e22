"""Blocks of examples: taken apart into single ones, and answered as River answers them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.tables.inputs import numeric_block, unique_names


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
    names, block = numeric_block(X)
    return [dict(zip(names, row, strict=True)) for row in block.tolist()]


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
