"""From a dataset to the array whose prefixes are samples: training rows, then test rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.encoders import UnitRangeEncoder, refuse_text
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.splits import Division, division

Rows = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """Training rows, then test rows, in random order: every sample of an array is a view.

    A sample may have no row of a rare class. A model is then fitted on the first training row of
    that class, too, so that it knows every class from the first sample on. Such a row is not
    counted: the sample remains a prefix of a random order, as the bounds need it, and samples
    with these rows are nested as samples are.
    """

    features: Any
    """Shape (n_rows, n_features): an array in C order, a sparse matrix, a DataFrame."""
    labels: NDArray[Any]
    """Classes, of a dataset their codes, shape (n_rows,)."""
    train_rows: int
    division: Division = field(default_factory=Division)
    """Of these rows, in their order: how they are dealt to folds."""

    def train(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_tr: the first `rows` training rows, and their labels."""
        return self.at(slice(rows))

    def test(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_te: the first `rows` test rows, and their labels."""
        return self.at(slice(self.train_rows, self.train_rows + rows))

    def fitted_on(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_tr, and the first row of each class that it does not have."""
        added = self.firsts[self.firsts >= rows]
        return (
            self.at(np.concatenate([np.arange(rows), added])) if len(added) else self.train(rows)
        )

    def at(self, rows: Any) -> tuple[Any, NDArray[Any]]:
        """Return some rows, by a slice or their numbers, and their labels."""
        return getattr(self.features, "iloc", self.features)[rows], self.labels[rows]

    @cached_property
    def firsts(self) -> NDArray[np.intp]:
        """Numbers of the first training row of each class, ascending."""
        return np.flatnonzero(~pd.Series(self.labels[: self.train_rows]).duplicated().to_numpy())

    def fold(self, rows: int, fold: int, folds: int) -> tuple[Any, Any]:
        """Return the numbers of those of the first `rows` that a fold is trained and tested on.

        Those of each class are dealt out to folds in turn, unless time or groups divide them.
        """
        if (rows, folds) not in self._dealt:
            if self.division.column:
                dealt = self.division.of(slice(rows)).blocks(folds)
            else:
                _, codes = np.unique(self.labels[:rows], return_inverse=True)
                dealt = np.empty(rows, dtype=np.intp)
                dealt[np.argsort(codes, kind="stable")] = np.arange(rows) % folds
            self._dealt[rows, folds] = dealt
        return self.division.fold(self._dealt[rows, folds], fold)

    @cached_property
    def _dealt(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """Rows of a dataset in a random order: first those to train on, then those to test on.

    The order and the array are made at their first use: a run whose probes are all stored has
    none.
    """

    digest: str
    n_rows: int
    seed: int
    test_fraction: float
    """Share of the rows to test on; at least one row is, unless it is 0."""
    make: Callable[[], Samples]
    """Makes the samples of `rows`."""
    tested: NDArray[np.bool_] | None = None
    """Whether a row is to test on, where that is not random."""

    @property
    def train_rows(self) -> int:
        """Number of rows to train on."""
        return self.n_rows - self.test_rows

    @property
    def test_rows(self) -> int:
        """Number of rows to test on."""
        if self.tested is not None:
            return int(self.tested.sum())
        return max(1, round(self.n_rows * self.test_fraction)) if self.test_fraction else 0

    @property
    def identity(self) -> str:
        """Name of the rows in the keys of probes."""
        return f"{self.digest}/{self.seed}/{self.test_fraction:g}"

    def rows(self) -> tuple[Rows, Rows]:
        """Return the numbers of the rows to train on and to test on, each in random order."""
        order = np.arange(self.n_rows, dtype=np.int32)
        generator(self.seed, "samples", "order").shuffle(order)
        if self.tested is not None:
            order = order[np.argsort(self.tested[order], kind="stable")]
        return order[: self.train_rows], order[self.train_rows :]

    @cached_property
    def samples(self) -> Samples:
        """Rows, made at the first use."""
        return self.make()


def split(
    dataset: Dataset, seed: int, test_fraction: float, made: Samples | None = None
) -> Shuffled:
    """Divide `dataset` into training and test rows, each in random order.

    `made`: the samples of the same dataset, seed and fraction, if they exist already.

    Raises DataError: a regression, a text column, or too few rows; and when the array is made, an
    infinite value.
    """
    if dataset.task != "classification":
        raise DataError(
            f"{dataset.reference}: configurations are selected by accuracy, which needs classes:"
            " binarize the numeric target with ?threshold=10, or make each value a class with"
            " ?task=classification"
        )
    with naming(dataset.reference):
        refuse_text(dataset)
    n_rows, rule = len(dataset.target), division(dataset)

    def make() -> Samples:
        if made is not None:
            return made
        train, test = divided.rows()
        order = np.concatenate([train, test])
        features = encoder(dataset, train).transform(dataset.features, rows=order)
        labels, by = labels_of(dataset)[order], rule.of(order)
        return Samples(features=features, labels=labels, train_rows=len(train), division=by)

    ratios = 1 - test_fraction, test_fraction
    divided = Shuffled(
        digest=f"{dataset.digest}/{dataset.split}", n_rows=n_rows, seed=seed, make=make,
        test_fraction=test_fraction, tested=rule.parts(ratios, seed) == 1 if rule.column else None,
    )  # fmt: skip
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
