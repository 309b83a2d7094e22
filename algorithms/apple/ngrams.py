"""Pairs of neighbouring words as features: the `bigram` baseline, and apple on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.benches.holdout import Holdout, Part, Rows, Unlabelled
from leaseboard.algorithms.errors import SkipError


class Base(NamedTuple):
    """Base features: of the training rows, of the test rows, and their names."""

    train: Rows
    test: Rows
    names: Sequence[str]


class PairNames(Sequence[str]):
    """Names of words and then of pairs, made when asked for."""

    def __init__(self, words: Sequence[str], pairs: NDArray[np.int64]) -> None:
        self.words = words
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.words) + len(self.pairs)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if place < len(self.words):
            return self.words[place]
        first, second = divmod(int(self.pairs[place - len(self.words)]), len(self.words))
        return f"{self.words[first]}_{self.words[second]}"


def with_bigrams(holdout: Holdout) -> Base:
    """The rows with a count for each pair of neighbouring words of the training texts.

    Raises
    ------
    SkipError
        If the data are not text.
    """
    if holdout.train.tokens is None or holdout.test.tokens is None:
        raise SkipError("bigrams need text: use data with a text column")
    n_words = holdout.train.rows.shape[1]
    known = np.unique(np.concatenate([pairs_of(text, n_words) for text in holdout.train.tokens]))
    train, test = (_widened(part, known) for part in (holdout.train, holdout.test))
    return Base(train, test, PairNames(holdout.names, known))


def pairs_of(tokens: NDArray[np.int32], n_words: int) -> NDArray[np.int64]:
    """A number for each pair of neighbouring known words, ``first * n_words + second``.

    Examples
    --------
    >>> pairs_of(np.array([2, 0, 1], dtype=np.int32), 10)
    array([20,  1])
    >>> pairs_of(np.array([2, -1, 0, 1], dtype=np.int32), 10)
    array([1])
    """
    first, second = tokens[:-1].astype(np.int64), tokens[1:]
    return (first * n_words + second)[(first >= 0) & (second >= 0)]


def _widened(part: Part | Unlabelled, known: NDArray[np.int64]) -> Rows:
    assert part.tokens is not None
    n_words = part.rows.shape[1]
    pairs = [pairs_of(text, n_words) for text in part.tokens]
    everything = np.concatenate(pairs)
    row = np.repeat(np.arange(len(pairs)), [len(found) for found in pairs])
    column = np.searchsorted(known, everything)
    column[column == len(known)] = 0
    there = known[column] == everything
    ones = np.ones(int(there.sum()), dtype=np.float32)
    shape = (len(pairs), len(known))
    counts = sparse.csr_array((ones, (row[there], column[there])), shape=shape)
    return sparse.hstack([sparse.csr_array(part.rows), counts], format="csr", dtype=np.float32)
