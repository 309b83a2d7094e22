"""A sample of a table's rows: the same one always, with every class in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.columns import as_classes


def sampled(target: pd.Series, rows: int, text: str, *, by_class: bool) -> NDArray[np.intp]:
    """The places of `rows` rows, drawn without replacement, in the source's order.

    Each class has its share of them, and at least one row. The seed is fixed, so that a reference
    names one table: another sample would be other data.

    Raises
    ------
    DataError
        There are not so many rows, or more classes than rows are asked for.
    """
    n_rows = len(target)
    if rows > n_rows:
        raise too_many("rows", rows, n_rows, text)
    rng = generator("sample of rows")
    if not by_class:
        return np.sort(rng.permutation(n_rows)[:rows])
    codes = as_classes(target).cat.codes.to_numpy()
    counts = np.bincount(codes)
    if rows < len(counts):
        raise DataError(
            f"{text}: rows={rows} of {len(counts)} classes: ask for at least a row of each, or"
            " take first_rows"
        )
    kept = [
        rng.permutation(np.flatnonzero(codes == code))[:share]
        for code, share in enumerate(shares(counts, rows))
    ]
    return np.sort(np.concatenate(kept))


def too_many(option: str, asked: int, there: int, text: str) -> DataError:
    """The error for an `option` that asks for more rows than are there."""
    return DataError(
        f"{text}: {option}={asked} of {there} rows: ask for at most {there}, or leave {option} out"
        " for all of them"
    )


def shares(counts: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """How many of `rows` rows each class gets: its share of `counts`, rounded, at least one.

    Examples
    --------
    >>> shares(np.array([900, 99, 1]), 100).tolist()
    [90, 9, 1]
    """
    quota = counts * (rows / counts.sum())
    given = np.maximum(np.floor(quota), 1.0)
    while given.sum() < rows:
        given[(quota - given).argmax()] += 1
    while given.sum() > rows:
        given[np.where(given > 1, given - quota, -np.inf).argmax()] -= 1
    return given.astype(np.intp)
