"""The rows configurations are trained and tested on, and the array whose prefixes are samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.seeds import generator

Rows = NDArray[np.int32]


class Prefixes(Protocol):
    """Rows whose prefixes are the samples."""

    @property
    def train_rows(self) -> int:
        """How many there are to train on."""

    def train(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_tr: the first `rows` training rows, and their labels."""

    def test(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_te: the first `rows` test rows, and their labels."""


def between(features: Any, start: int, end: int) -> Any:
    """The rows from `start` to `end` of an array, a sparse matrix or a DataFrame."""
    return features.iloc[start:end] if hasattr(features, "iloc") else features[start:end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Training rows, then test rows, in random order: every sample is a view."""

    features: NDArray[np.float32]
    """Shape (n_rows, n_features), C order."""
    labels: NDArray[np.int32]
    """Codes of the classes, shape (n_rows,)."""
    train_rows: int

    def train(self, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """S_tr: the first `rows` training rows."""
        return self.features[:rows], self.labels[:rows]

    def test(self, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """S_te: the first `rows` test rows."""
        part = slice(self.train_rows, self.train_rows + rows)
        return self.features[part], self.labels[part]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRows:
    """Rows as a person gave them, training rows first: an array, a sparse matrix, a DataFrame."""

    features: Any
    labels: NDArray[Any]
    train_rows: int

    def train(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_tr."""
        return between(self.features, 0, rows), self.labels[:rows]

    def test(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """S_te."""
        start, end = self.train_rows, self.train_rows + rows
        return between(self.features, start, end), self.labels[start:end]


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
    make: Callable[[], Prefixes]
    """What is made of `rows`."""

    @property
    def train_rows(self) -> int:
        """How many rows there are to train on."""
        return self.n_rows - self.test_rows

    @property
    def test_rows(self) -> int:
        """How many rows there are to test on."""
        return max(1, round(self.n_rows * self.test_fraction)) if self.test_fraction else 0

    @property
    def identity(self) -> str:
        """What the probes are filed under."""
        return f"{self.digest}/{self.seed}/{self.test_fraction:g}"

    def rows(self) -> tuple[Rows, Rows]:
        """The numbers of the rows to train on and of those to test on, each in random order."""
        order = np.arange(self.n_rows, dtype=np.int32)
        generator(self.seed, "samples", "order").shuffle(order)
        return order[: self.train_rows], order[self.train_rows :]

    def first(self, rows: int) -> Shuffled:
        """The first training rows by themselves, none of them to test on."""
        return replace(
            self,
            digest=f"{self.identity}/first {rows}",
            n_rows=rows,
            test_fraction=0.0,
            make=lambda: self.samples,
        )

    @cached_property
    def samples(self) -> Prefixes:
        """The rows, made at the first use."""
        return self.make()
