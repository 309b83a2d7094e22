"""Encoding of the hold-out environment, for apple and its registered learner."""

from dataclasses import astuple, dataclass
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from leaseboard.algorithms.apple.rows import ColumnScale
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.preprocess.encoding import (
    declared,
    known_dates,
    places,
    spread_dates,
)


@dataclass(eq=False, repr=False)
class SparseEncoder(TransformerMixin, BaseEstimator):
    """Columns of any kind as sparse features, in the order of the columns.

    A number is itself, a boolean 0 or 1, a date the columns of `spread_dates`. A nominal column is
    an indicator for each category that it declares; a missing category, or one that it does not
    declare, sets no indicator. A text column is the counts of the words of the training rows.

    Attributes
    ----------
    dates_ : dict
        See `leaseboard.tasks.preprocess.encoding.KnownDates`.
    known_ : list of list of str or None
        For each column the labels of its categories or its words; None for numbers.
    scales_ : list of tuple of float or None
        For each column of numbers the values of its `ColumnScale`.
    names_ : tuple of str
        The features' names: an indicator is ``column=value``, a count is the word.

    Examples
    --------
    >>> rows = pd.DataFrame({"n": [0.5, 2.0], "c": pd.Categorical(["u", "v"])})
    >>> encoder = SparseEncoder().fit(rows)
    >>> encoder.transform(rows).toarray().tolist(), encoder.names_
    ([[0.5, 1.0, 0.0], [2.0, 0.0, 1.0]], ('n', 'c=u', 'c=v'))
    """

    missing: Literal["refuse", "zero"] = "refuse"
    """Treatment of a missing number: an error, or an absent feature."""
    clip: float = 0.0
    scale: bool = False
    """Treatment of columns of numbers, see `leaseboard.algorithms.apple.rows.ColumnScale`."""

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn the declared categories, and the words of the training rows."""
        del y
        self.dates_ = known_dates(frame)
        frame = spread_dates(frame, self.dates_)
        every = [column for _, column in frame.items()]
        self.is_text_ = [columns.is_text(column) for column in every]
        self.known_ = [_known(column) for column in every]
        self.scales_ = [
            None
            if known is not None
            else astuple(
                ColumnScale.fitted(column.dropna().to_numpy(np.float64), self.clip, self.scale)
            )
            for column, known in zip(every, self.known_, strict=True)
        ]
        self.names_ = tuple(
            chain.from_iterable(
                [str(name)] if known is None else known if text else [f"{name}={k}" for k in known]
                for name, known, text in zip(frame, self.known_, self.is_text_, strict=True)
            )
        )
        return self

    def transform(self, frame: pd.DataFrame) -> sparse.csr_array:
        """Return the features of the rows, shape (n_rows, n_features).

        Raises DataError if a number is missing that may not be.
        """
        blocks = []
        for place, (_, column) in enumerate(spread_dates(frame, self.dates_).items()):
            known = self.known_[place]
            if known is None:
                blocks.append(self._numbers(column, ColumnScale(*(self.scales_[place] or ()))))
            elif self.is_text_[place]:
                blocks.append(_counts(column, known))
            else:
                found = places(column, known)
                rows = np.flatnonzero(found >= 0)
                ones, shape = np.ones(len(rows)), (len(found), len(known))
                blocks.append(sparse.csr_array((ones, (rows, found[rows])), shape=shape))
        return sparse.hstack(blocks, format="csr")

    def _numbers(self, column: pd.Series, scale: ColumnScale) -> sparse.csr_array:
        if self.missing == "refuse":
            _refuse_gap(column)
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.where(np.isnan(numbers), 0.0, scale.of(numbers))
        return sparse.csr_array(known[:, None])


def refuse_gaps(frame: pd.DataFrame) -> None:
    """Raise DataError for a missing value in any column but those of text."""
    for name in frame:
        if not columns.is_text(frame[name]):
            _refuse_gap(frame[name])


def _refuse_gap(column: pd.Series) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise DataError(
            f"column {column.name!r} is missing (NaN) in {missing} rows: fill it in, or say"
            " --set missing=zero, and what is missing counts as an absent feature"
        )


def _known(column: pd.Series) -> list[str] | None:
    if columns.is_nominal(column):
        return declared(column)
    if not columns.is_text(column):
        return None
    return list(
        dict.fromkeys(chain.from_iterable(str(text).split() for text in column.fillna("")))
    )


def _counts(column: pd.Series, known: list[str]) -> sparse.csr_array:
    """Return how often each text has each of the `known` words."""
    place = {word: number for number, word in enumerate(known)}
    found = [
        [place[word] for word in str(text).split() if word in place] for text in column.fillna("")
    ]
    indptr, indices = np.cumsum([0, *map(len, found)]), [*chain.from_iterable(found)]
    shape = len(found), len(known)
    counts = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    counts.sum_duplicates()
    return counts
