"""Encoders of tables, fitted on training rows, for environments."""

from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer

from leaseboard.algorithms.apple.rows import ColumnScale
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.values import LARGEST
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess import CODE, INDICATOR, MANY
from leaseboard.tasks.preprocess.encoding import (
    EVERY,
    declared,
    known_dates,
    places,
    present,
    reals,
    spread_dates,
)

Scale = Literal["none", "standard"]
Floats = NDArray[np.float32] | NDArray[np.float64]
Rows = NDArray[Any] | slice

WIDEST = 1024
"""Indicators of a column at most: more categories share them, as in feature hashing."""
FEW = 10
"""Categories of a column beyond which they are `MANY`."""


class _Encoder(TransformerMixin, BaseEstimator):
    """Encoder of columns; those of dates are the columns of `spread_dates`."""

    def _learn_dates(self, frame: pd.DataFrame, rows: Rows = EVERY) -> list[pd.Series]:
        self.dates_ = known_dates(frame, rows)
        return self._columns(frame)

    def _columns(self, frame: pd.DataFrame) -> list[pd.Series]:
        return [column for _, column in spread_dates(frame, self.dates_).items()]


@dataclass(eq=False, repr=False)
class TableEncoder(_Encoder):
    """Encoder of mixed columns as dense float32 features, in the order of the columns.

    A number is itself, a boolean 0 or 1; a missing number is the median of the training rows, 0
    where they have none. A date is the columns of `spread_dates`. Any other
    column is nominal: one 0/1 feature for each category that occurs in the training rows, in
    declared or else in sorted order; of more than `WIDEST`, categories that are `WIDEST` places
    apart share one. A missing category, or one that does not occur there, is all zeros.

    Attributes
    ----------
    dates_ : dict
        See `leaseboard.tasks.preprocess.encoding.KnownDates`.
    categories_ : list of list of str or None
        For each column those with a feature; None for numbers.
    medians_ : list of float
        For each column what a missing number is.
    kinds_ : ndarray of int8
        Of each feature: `INDICATOR`, and `CODE` or `MANY`, if it is of a column that has both,
        else 0.
    center_, spread_ : ndarray of float64
        What is taken from each feature, and what it is divided by; empty with ``scale="none"``.

    Examples
    --------
    >>> rows = pd.DataFrame({"size": [1.0, None, 4.0], "colour": ["red", "green", None]})
    >>> TableEncoder().fit_transform(rows).tolist()
    [[1.0, 0.0, 1.0], [2.5, 1.0, 0.0], [4.0, 0.0, 0.0]]
    """

    scale: Scale = "none"
    """``standard``: every feature, 0/1 ones too, has mean 0 and variance 1 on the training
    rows; computed in float64, so that a column of large numbers with a small spread keeps it."""
    codes: bool = False
    """Whether a nominal column of three categories and more also has one feature for all: the
    place of the category in their order, -1 of a missing one, and between the two in the middle of
    one that does not occur in the training rows. They come after all others. Trees part categories
    by it in fewer splits."""

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn categories, medians and scales of the training rows; targets do not matter."""
        every = self._learn_dates(frame)
        self.categories_ = [present(c) if columns.is_named(c) else None for c in every]
        has_code = [self._has_code(kept) for kept in self.categories_]
        widths = [1 if kept is None else min(len(kept), WIDEST) for kept in self.categories_]
        kinds = np.repeat(np.multiply(has_code, INDICATOR), widths)
        coded = [MANY if width > FEW else CODE for width in compress(widths, has_code)]
        self.kinds_ = np.append(kinds, coded).astype(np.int8)
        medians = (0.0 if columns.is_named(c) else pd.Series(reals(c)).median() for c in every)
        self.medians_ = [0.0 if np.isnan(median) else float(median) for median in medians]
        self.center_ = self.spread_ = np.empty(0)
        if self.scale == "standard":
            features = self._encoded(frame)
            self.center_, spread = features.mean(axis=0), features.std(axis=0)
            # The deviation of a constant feature is 0 but for rounding.
            rounding = len(features) * np.finfo(np.float64).eps * np.abs(self.center_)
            self.spread_ = np.where(spread > rounding, spread, 1.0)
        return self

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """Return `frame` as an array of shape (n_rows, n_features), C order.

        Raises DataError for infinite values.
        """
        features = self._encoded(frame)
        if self.scale == "standard":
            # A value beyond float32 by the training rows' spread becomes the largest.
            features = np.clip((features - self.center_) / self.spread_, -LARGEST, LARGEST)
        return features.astype(np.float32, copy=False)

    def _encoded(self, frame: pd.DataFrame) -> Floats:
        """Return the features before they are scaled."""
        exact = np.float64 if self.scale == "standard" else np.float32
        blocks, codes = list[Floats](), list[Floats]()
        every = zip(self.categories_, self.medians_, self._columns(frame), strict=True)
        for kept, median, column in every:
            if kept is None:
                numbers = reals(column).astype(exact)
                blocks.append(np.where(np.isnan(numbers), exact(median), numbers)[:, None])
                continue
            at = places(column, kept)
            shared = np.where(at < 0, at, at % WIDEST)
            indicators = shared[:, None] == np.arange(min(len(kept), WIDEST))
            blocks.append(indicators.astype(exact))
            if self._has_code(kept):
                unseen = (at < 0) & column.notna().to_numpy()
                code = np.where(unseen, len(kept) // 2 - 0.5, at)
                codes.append(code[:, None].astype(exact))
        return np.hstack([*blocks, *codes])

    def _has_code(self, kept: list[str] | None) -> bool:
        return self.codes and kept is not None and len(kept) > 2


def sparse_rows(
    frame: pd.DataFrame, train: Rows, clip: float = 0.0, scale: bool = False
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return columns of any kind as sparse features, in their order, and the features' names.

    What is fitted is fitted on the rows `train`. A number is itself, 0 if it is missing, a boolean
    0 or 1, a date the columns of `spread_dates`. A nominal column is an indicator ``column=value``
    for each category that it declares; a missing category sets no indicator. A text column is the
    counts of the words of the training rows.

    - `clip`, `scale`: of columns of numbers, see `leaseboard.algorithms.apple.rows.ColumnScale`.

    Examples
    --------
    >>> rows = pd.DataFrame({"n": [0.5, 2.0], "c": pd.Categorical(["u", "v"])})
    >>> features, names = sparse_rows(rows, EVERY)
    >>> features.toarray().tolist(), names
    ([[0.5, 1.0, 0.0], [2.0, 0.0, 1.0]], ('n', 'c=u', 'c=v'))
    """
    blocks, names = list[sparse.csr_array](), list[str]()
    for name, column in spread_dates(frame, known_dates(frame, train)).items():
        if columns.is_nominal(column):
            known = declared(column)
            found = places(column, known)
            rows = np.flatnonzero(found >= 0)
            ones, shape = np.ones(len(rows)), (len(found), len(known))
            blocks.append(sparse.csr_array((ones, (rows, found[rows])), shape=shape))
            names += [f"{name}={value}" for value in known]
        elif columns.is_text(column):
            texts = column.fillna("").astype(str)
            words = list(dict.fromkeys(chain.from_iterable(map(str.split, texts.iloc[train]))))
            counter = CountVectorizer(vocabulary=words, analyzer=str.split, dtype=np.float64)
            counts = counter.transform(texts) if words else (len(texts), 0)
            blocks.append(sparse.csr_array(counts))
            names += words
        else:
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
            missing = np.isnan(numbers)
            fitted = ColumnScale.fitted(numbers[train][~missing[train]], clip, scale)
            blocks.append(sparse.csr_array(np.where(missing, 0.0, fitted.of(numbers))[:, None]))
            names.append(str(name))
    return sparse.hstack(blocks, format="csr"), tuple(names)


@dataclass(eq=False, repr=False)
class UnitRangeEncoder(_Encoder):
    """Encoder of each column as one float32 feature, within [0, 1] on the training rows.

    A date is the columns of `spread_dates`. A nominal value is the number of
    its category, -1 if it is missing or unknown. Every column is scaled by the least and the
    greatest of its training values, as the paper of ABC does; a missing number becomes the mean of
    its training values, 0 where all are missing.

    Attributes
    ----------
    dates_ : dict
        See `leaseboard.tasks.preprocess.encoding.KnownDates`.
    categories_ : list of list of str or None
        For each column its categories; None for numbers.
    means_, low_, spread_ : ndarray of float32, shape (n_columns,)
        What fills a gap, what is subtracted from a value, and its divisor.

    Notes
    -----
    Both methods take row numbers, because a copy of the rows of a large frame would need as much
    memory again as the features do.

    Examples
    --------
    >>> rows = pd.DataFrame({"x": [2.0, None, 6.0], "b": [True, False, True]})
    >>> UnitRangeEncoder().fit_transform(rows).tolist()
    [[0.0, 1.0], [0.5, 0.0], [1.0, 1.0]]
    """

    def fit(self, frame: pd.DataFrame, y: Any = None, rows: Rows = EVERY) -> Self:
        """Learn means and ranges of the training rows, those of `frame` or `rows` of it."""
        every = self._learn_dates(frame, rows)
        self.categories_ = [declared(c) if columns.is_nominal(c) else None for c in every]
        self.means_, self.low_, self.spread_ = np.empty((3, len(every)), dtype=np.float32)
        for i, column in enumerate(every):
            values = _numbers(column, self.categories_[i])[rows]
            missing = np.isnan(values)
            known = values[~missing]
            self.means_[i] = known.mean(dtype=np.float64) if len(known) else 0.0
            values[missing] = self.means_[i]
            low, high = values.min(), values.max()
            self.low_[i], self.spread_[i] = low, high - low if high > low else 1.0
        return self

    def transform(self, frame: pd.DataFrame, rows: Rows = EVERY) -> NDArray[np.float32]:
        """Return each row of `frame`, or `rows` of it, as an array in C order.

        Raises DataError for infinite values.
        """
        n_rows = len(frame) if isinstance(rows, slice) else len(rows)
        features = np.empty((n_rows, len(self.means_)), dtype=np.float32)
        every = zip(self.categories_, self._columns(frame), strict=True)
        for i, (known, column) in enumerate(every):
            values = _numbers(column, known)[rows]
            values[np.isnan(values)] = self.means_[i]
            features[:, i] = (values - self.low_[i]) / self.spread_[i]
        return features


def labels_of(dataset: Dataset) -> NDArray[Any]:
    """Return the targets: float64 for a regression, int64 codes for a classification."""
    if dataset.task == "classification":
        return dataset.target.cat.codes.to_numpy().astype(np.int64)
    return dataset.target.to_numpy(dtype=np.float64)


def refuse_text(dataset: Dataset) -> None:
    """Raise DataError for a column of free text."""
    for name, column in dataset.features.items():
        if columns.is_text(column):
            raise DataError(f"column {name!r} holds free text: a table takes numbers and nominal"
                            " values, drop or encode it")  # fmt: skip


def refuse_gaps(frame: pd.DataFrame) -> None:
    """Raise DataError for a missing value in any column but those of text."""
    for name, column in frame.items():
        if not columns.is_text(column) and (missing := int(column.isna().sum())):
            raise DataError(
                f"column {name!r} is missing (NaN) in {missing} rows: fill it in, or say"
                " --set missing=zero, and what is missing counts as an absent feature"
            )


def _numbers(column: pd.Series, known: list[str] | None) -> NDArray[np.float32]:
    """Return a column's numbers, gaps as NaN, or its places among the `known` categories."""
    if known is not None:
        return places(column, known).astype(np.float32)
    return np.array(reals(column), dtype=np.float32)
