"""From a data set to the array whose prefixes are samples: training rows, then test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch import Dataset, columns
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder

Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Training rows, then test rows, in random order: every sample of an array is a view."""

    features: Any
    """Shape (n_rows, n_features): an array in C order, a sparse matrix, a DataFrame."""
    labels: NDArray[Any]
    """Classes, of a data set their codes, shape (n_rows,)."""
    train_rows: int

    def train(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_tr: the first `rows` training rows, and their labels."""
        return between(self.features, 0, rows), self.labels[:rows]

    def test(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_te: the first `rows` test rows, and their labels."""
        start, end = self.train_rows, self.train_rows + rows
        return between(self.features, start, end), self.labels[start:end]


def between(features: Any, start: int, end: int) -> Any:
    """Return the rows from `start` to `end` of an array, a sparse matrix or a DataFrame."""
    return features.iloc[start:end] if hasattr(features, "iloc") else features[start:end]


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """The rows of a data set in a random order: first those to train on, then those to test on.

    The order and the array are made when they are asked for: a run whose probes are all stored
    never asks.
    """

    digest: str
    n_rows: int
    seed: int
    test_fraction: float
    """The share of rows to test on; at least one row is, unless it is 0."""
    make: Callable[[], Samples]
    """What is made of `rows`."""

    @property
    def train_rows(self) -> int:
        """Number of rows to train on."""
        return self.n_rows - self.test_rows

    @property
    def test_rows(self) -> int:
        """Number of rows to test on."""
        return max(1, round(self.n_rows * self.test_fraction)) if self.test_fraction else 0

    @property
    def identity(self) -> str:
        """Name of the rows in the keys of probes."""
        return f"{self.digest}/{self.seed}/{self.test_fraction:g}"

    def rows(self) -> tuple[Rows, Rows]:
        """The numbers of the rows to train on and of those to test on, each in random order."""
        order = np.arange(self.n_rows, dtype=np.int32)
        generator(self.seed, "samples", "order").shuffle(order)
        return order[: self.train_rows], order[self.train_rows :]

    @cached_property
    def samples(self) -> Samples:
        """Rows, made at the first use."""
        return self.make()


def split(
    dataset: Dataset, seed: int, test_fraction: float, made: Samples | None = None
) -> Shuffled:
    """Divide `dataset` into training and test rows by a random order.

    `made` are the samples of the same data set, seed and fraction, if somebody has made them.

    Raises DataError: a regression, a text column, a single class, or too few rows; and when the
    array is made, an infinite value.
    """
    _check(dataset)
    n_rows = len(dataset.target)
    divided = Shuffled(
        digest=dataset.digest,
        n_rows=n_rows,
        seed=seed,
        test_fraction=test_fraction,
        make=lambda: made or _samples(dataset, *divided.rows()),
    )
    if divided.train_rows < 2:
        raise DataError(f"{dataset.reference}: {n_rows} rows are too few to split")
    return divided


def encoder(dataset: Dataset, train: Rows) -> UnitRangeEncoder:
    """Return the encoder of the features, fitted on the rows `train`."""
    with naming(dataset.reference):
        return UnitRangeEncoder().fit(dataset.features, rows=train)


def labels_of(dataset: Dataset) -> NDArray[np.int32]:
    """Return the codes of the classes."""
    return dataset.target.cat.codes.to_numpy().astype(np.int32)


def _samples(dataset: Dataset, train: Rows, test: Rows) -> Samples:
    order = np.concatenate([train, test])
    features = encoder(dataset, train).transform(dataset.features, rows=order)
    labels = labels_of(dataset)[order]
    return Samples(features=features, labels=labels, train_rows=len(train))


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
