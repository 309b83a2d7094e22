"""One shuffled array whose prefixes are the samples, and the split, known before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Training rows, then test rows, in random order: every sample is a view.

    Attributes
    ----------
    features : ndarray of float32, shape (n_rows, n_features), C order
    labels : ndarray of int32, shape (n_rows,)
        Codes of the classes.
    train_rows : int
    """

    features: NDArray[np.float32]
    labels: NDArray[np.int32]
    train_rows: int

    def train(self, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """S_tr: the first `rows` training rows."""
        return self.features[:rows], self.labels[:rows]

    def test(self, rows: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """S_te: the first `rows` test rows."""
        part = slice(self.train_rows, self.train_rows + rows)
        return self.features[part], self.labels[part]


@dataclass(frozen=True, kw_only=True)
class Split:
    """How many rows are for training and for testing; the array is made when it is asked for.

    A run whose probes are all stored never asks.

    Attributes
    ----------
    train_rows, test_rows : int
    identity : str
        Digest of the data, seed and fraction of the split: what the probes are filed under.
    make : callable
        Returns the `Samples`.
    """

    train_rows: int
    test_rows: int
    identity: str
    make: Callable[[], Samples]

    @cached_property
    def samples(self) -> Samples:
        """The array, made at the first use."""
        return self.make()
