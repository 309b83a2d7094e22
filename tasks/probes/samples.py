"""From a `Dataset` to the shuffled array that the samples are prefixes of."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.errors import DataError
from tasks.fetch import Dataset, columns
from tasks.probes.split import Rows, Samples, Split

_BLOCK = 1 << 18  # rows shuffled at once: NumPy's copy of their positions stays small


def split(dataset: Dataset, seed: int, test_fraction: float) -> Split:
    """Divide `dataset` into training and test rows by a random order.

    Raises
    ------
    DataError
        A regression, a text column, a single class, or too few rows; and when the array is
        made, an infinite value.
    """
    _check(dataset)
    n_rows = len(dataset.target)
    divided = Split(
        digest=dataset.digest,
        n_rows=n_rows,
        seed=seed,
        test_fraction=test_fraction,
        make=lambda train, test: _samples(dataset, train, test),
    )
    if divided.train_rows < 2:
        raise DataError(f"{dataset.reference}: {n_rows} rows are too few to split")
    return divided


def _samples(dataset: Dataset, train: Rows, test: Rows) -> Samples:
    """The shuffled array; features as float32, within [0, 1] on the training rows.

    Nominal columns become their category codes. Every column is scaled by the least and the
    greatest of its training values, as the paper does; a missing number becomes the mean of its
    training values. The array is filled column by column and block by block, so that little is
    copied beside it.
    """
    order, train_rows = np.concatenate([train, test]), len(train)
    n_rows = len(order)
    features = np.empty((n_rows, dataset.features.shape[1]), dtype=np.float32)
    for position, name in enumerate(dataset.features.columns):
        numbers = _numbers(dataset.features[name], dataset.reference)
        for start in range(0, n_rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            features[block, position] = numbers[order[block]]
        _scale(features[:, position], train_rows)
    labels = dataset.target.cat.codes.to_numpy()[order].astype(np.int32)
    return Samples(features=features, labels=labels, train_rows=train_rows)


def _check(dataset: Dataset) -> None:
    if dataset.task != "classification":
        raise DataError(
            f"{dataset.reference}: configurations are selected by accuracy, which needs classes:"
            " make the numeric target two with ?threshold=, or each of its values one with"
            " ?task=classification"
        )
    labels = dataset.target.cat.codes.to_numpy()
    if (labels < 0).any():
        raise DataError(f"{dataset.reference}: the target is missing in some rows: drop them")
    if (labels == labels[0]).all():
        raise DataError(f"{dataset.reference}: the target has one class, nothing can be learned")
    for name in dataset.features.columns:
        if columns.is_text(dataset.features[name]):
            raise DataError(
                f"{dataset.reference}: column {name!r} holds free text: drop or encode it"
            )


def _numbers(column: pd.Series, reference: str) -> NDArray[np.float32]:
    values = column.cat.codes if columns.is_nominal(column) else column
    numbers = values.to_numpy(dtype=np.float32)
    if np.isinf(numbers).any():
        raise DataError(f"{reference}: column {column.name!r} has infinite values: drop the rows")
    return numbers


def _scale(column: NDArray[np.float32], train_rows: int) -> None:
    """Fill the gaps of `column`, a view, and scale it in place."""
    train = column[:train_rows]
    missing = np.isnan(column)
    if missing.any():
        known = train[~missing[:train_rows]]
        column[missing] = known.mean(dtype=np.float64) if len(known) else 0.0
    low, high = train.min(), train.max()
    column -= low
    if high > low:
        column /= high - low
