"""Dense float32 arrays of a data set, encoded by what its training rows hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.errors import DataError
from tasks.fetch import columns
from tasks.fetch.dataset import Dataset

Nominal = Literal["one-hot", "ordinal"]
Missing = Literal["impute", "keep"]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """All rows of a data set as a learner takes them; index with the rows of a split.

    Attributes
    ----------
    X : ndarray of float32, shape (n_rows, n_columns), C order
    y : ndarray of shape (n_rows,)
        float64 for a regression; int64 class codes, 0 to k-1, for a classification.
    names : tuple of str
        The columns' names; a one-hot column is ``column=category``.
    nominal : tuple of int
        Positions of columns that hold codes of nominal values.
    """

    X: NDArray[np.float32]
    y: NDArray[Any]
    names: tuple[str, ...]
    nominal: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """How one column is encoded: to which output columns, and by which rule."""

    name: str
    outputs: tuple[str, ...]
    nominal: bool
    encode: Callable[[pd.Series], NDArray[np.float32]]


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """An encoding fitted on training rows, which applies to any rows of the same columns."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The output columns' names."""
        return tuple(name for column in self.columns for name in column.outputs)

    @property
    def nominal(self) -> tuple[int, ...]:
        """Positions of output columns that hold codes."""
        flags = [column.nominal for column in self.columns for _ in column.outputs]
        return tuple(position for position, flag in enumerate(flags) if flag)

    def transform(self, features: pd.DataFrame) -> NDArray[np.float32]:
        """`features` as an array of shape (n_rows, n_outputs)."""
        X = np.empty((len(features), len(self.names)), dtype=np.float32)
        start = 0
        for column in self.columns:
            stop = start + len(column.outputs)
            X[:, start:stop] = column.encode(features[column.name])
            start = stop
        return X


def as_arrays(
    dataset: Dataset, rows: Rows, *, nominal: Nominal = "one-hot", missing: Missing = "impute"
) -> Arrays:
    """All of `dataset`, encoded by what its training `rows` hold; see `fit`."""
    encoder = fit(dataset, rows, nominal=nominal, missing=missing)
    if dataset.task == "classification":
        y = dataset.target.cat.codes.to_numpy().astype(np.int64)
    else:
        y = dataset.target.to_numpy(dtype=np.float64)
    return Arrays(encoder.transform(dataset.features), y, encoder.names, encoder.nominal)


def fit(
    dataset: Dataset, rows: Rows, *, nominal: Nominal = "one-hot", missing: Missing = "impute"
) -> Encoder:
    """Learn the encoding of the features from the training `rows` alone.

    Parameters
    ----------
    dataset : Dataset
    rows : ndarray of int
        The training rows.
    nominal : {"one-hot", "ordinal"}
        One 0/1 column for each category that occurs in `rows`, or one column of the numbers
        0, 1, ... of those categories in their declared order.
    missing : {"impute", "keep"}
        A missing number is the median of `rows`, or stays NaN. A missing category, or one that
        does not occur in `rows`, is all zeros in one-hot columns; in an ordinal column -1, or
        NaN where missing values are kept.

    Raises
    ------
    DataError
        For a text column or infinite values.
    """
    fitted = []
    for name in dataset.features.columns:
        column = dataset.features[name]
        if columns.is_text(column):
            raise DataError(f"{dataset.reference}: column {name!r} holds free text: a table takes "
                            "numbers and nominal values, drop or encode it")  # fmt: skip
        if not columns.is_nominal(column):
            _check_finite(column, dataset.reference)
            fitted.append(_number(column, rows, missing))
        elif nominal == "one-hot":
            fitted.append(_one_hot(column, rows))
        else:
            fitted.append(_ordinal(column, rows, missing))
    return Encoder(tuple(fitted))


def _number(column: pd.Series, rows: Rows, missing: Missing) -> Column:
    seen = column.to_numpy()[rows].astype(np.float64)
    seen = seen[~np.isnan(seen)]
    middle = np.float32(np.median(seen) if len(seen) else 0)

    def encode(values: pd.Series) -> NDArray[np.float32]:
        numbers = values.to_numpy().astype(np.float32)[:, None]
        return np.where(np.isnan(numbers), middle, numbers) if missing == "impute" else numbers

    return Column(str(column.name), (str(column.name),), nominal=False, encode=encode)


def _ordinal(column: pd.Series, rows: Rows, missing: Missing) -> Column:
    kept = _seen_codes(column, rows)
    unseen = np.float32(-1 if missing == "impute" else np.nan)
    # The last entry is that of code -1, a missing value.
    table = np.full(len(column.cat.categories) + 1, unseen, dtype=np.float32)
    table[kept] = np.arange(len(kept))

    def encode(values: pd.Series) -> NDArray[np.float32]:
        return table[values.cat.codes.to_numpy()][:, None]

    return Column(str(column.name), (str(column.name),), nominal=True, encode=encode)


def _one_hot(column: pd.Series, rows: Rows) -> Column:
    kept = _seen_codes(column, rows)
    names = tuple(f"{column.name}={column.cat.categories[code]}" for code in kept)

    def encode(values: pd.Series) -> NDArray[np.float32]:
        return (values.cat.codes.to_numpy()[:, None] == kept).astype(np.float32)

    return Column(str(column.name), names, nominal=False, encode=encode)


def _seen_codes(column: pd.Series, rows: Rows) -> NDArray[np.int64]:
    """The codes of the categories that occur in `rows`, ascending."""
    codes = np.unique(column.cat.codes.to_numpy()[rows]).astype(np.int64)
    return codes[codes >= 0]


def _check_finite(column: pd.Series, reference: str) -> None:
    if columns.is_infinite(column.to_numpy()):
        raise DataError(
            f"{reference}: column {column.name!r} has infinite values (beyond 3.4e38): a table "
            "takes finite and missing ones, drop those rows"
        )
