"""Forecasts of 32 bits, written in the fewest digits that read back as the same ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd


def in_fewest_digits(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The table for a csv, in which columns of `names` that are of 32 bits have no more digits.

    A column of 64 bits stays as it is.

    Examples
    --------
    >>> told = pd.DataFrame({"forecast": np.float64(np.float32([123.4, 3e7]))})
    >>> told["forecast"].tolist()
    [123.4000015258789, 30000000.0]
    >>> in_fewest_digits(told, ["forecast"])["forecast"].tolist()
    [123.4, 30000000.0]
    """
    short = {name: _shortened(frame[name]) for name in names if frame[name].dtype.kind == "f"}
    return frame.assign(**short)


def _shortened(column: pd.Series) -> pd.Series:
    values = column.to_numpy(dtype=np.float64)
    known = values[~np.isnan(values)]
    with np.errstate(over="ignore"):  # beyond 32 bits, and so not equal
        single = known.astype(np.float32)
    if not np.array_equal(single, known):
        return column
    return column.map(lambda value: float(str(np.float32(value))), na_action="ignore")
