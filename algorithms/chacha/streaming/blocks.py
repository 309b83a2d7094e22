"""Blocks of examples: taken apart into single ones, and answered as River answers them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.online.inputs import numeric_block


def examples_of(X: Any) -> list[dict[Hashable, Any]]:
    """The rows of a DataFrame, or of an array, whose columns are called 0, 1, 2..."""
    if isinstance(X, pd.DataFrame):
        records: list[dict[Hashable, Any]] = X.to_dict("records")
        return records
    keys, block = numeric_block(X)
    names = [name for _, name in keys]
    return [dict(zip(names, row, strict=True)) for row in block.tolist()]


def in_kind(X: Any, answers: Sequence[Any] | NDArray[Any]) -> Any:
    """One answer a row: for a DataFrame a Series with its index, for an array an array."""
    if isinstance(X, pd.DataFrame):
        return pd.Series(answers, index=X.index)
    return np.asarray(answers)
