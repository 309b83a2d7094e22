"""A table that a model learned: which of its rows measure forecasts, and what was measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

HELD_OUT, FEWEST = 5, 50
"""One row of so many is forecast before it is learned, the last ones; of a first table that has so
many rows at least, and of a later one that has fewer all are."""


@dataclass(frozen=True)
class LearnedTable:
    """Progressive predictions of a table that was learned, and their measures."""

    predictions: pd.DataFrame
    """The target, and what was predicted of each row before its label was learned."""
    measures: dict[str, float]
    """See `leaseboard.algorithms.measures`; ``skill`` is over `best`."""
    best: str
    """The best naive baseline, and from which row on it learned, where it began after the model;
    empty without baselines."""
    new: tuple[str, ...]
    """Columns that the model had not seen before."""
    baselines_cpu_seconds: float
    """Of learning the naive baselines; 0 without baselines."""
    forecast: dict[str, float]
    """The same measures of the last rows, each predicted without any label of these; empty for a
    first table of few rows."""
    forecast_rows: int


def cuts_of(n: int, moments: NDArray[Any] | None, *, learned: bool, weighs: bool) -> list[int]:
    """Return the rows before which all labels come, and the next ones are forecast.

    The last cut begins the last fifth of a table, or a later table that is short or comes with one
    moment. In a first table the rows between two cuts weigh the parts of a forecast. Rows whose
    labels come together are on one side of a cut.

    - `n`, `moments`: rows, and the numbers of those with which their labels come, if they do.
    - `learned`: whether the model has learned a table before.
    - `weighs`: whether it weighs parts of a forecast.
    """
    held_out = n // HELD_OUT if n >= FEWEST else n

    def start(row: int) -> int:
        return row if moments is None or row <= 0 else int(np.searchsorted(moments, moments[row]))

    last = start(n - held_out)
    if learned:
        return [last]
    if 2 * last < n:  # it would say what a model of few rows predicts
        return []
    first = start(2 * last - n) if weighs else 0
    return [first, last] if first > 0 else [last]
