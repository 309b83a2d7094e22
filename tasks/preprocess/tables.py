"""Encoding of the pulls environment, for trials, estimators and registered winners."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.values import LARGEST
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess import CODE, INDICATOR
from leaseboard.tasks.preprocess.encoding import (
    known_dates,
    places,
    present,
    reals,
    spread_dates,
)

Scale = Literal["none", "standard"]
Floats = NDArray[np.float32] | NDArray[np.float64]

WIDEST = 1024
"""Indicators of a column at most: more categories share them, as in feature hashing."""
BLOCK = 1000
"""Rows that are scaled at once."""


@dataclass(eq=False, repr=False)
class TableEncoder(TransformerMixin, BaseEstimator):
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
        Of each feature: `INDICATOR` and `CODE` if it is of a column that has both, else 0.
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
    place of the category in their order, -1 of a missing one. They come after all others. Trees
    part categories by it in fewer splits."""

    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn categories, medians and scales of the training rows; targets do not matter."""
        del y
        self.dates_ = known_dates(frame)
        every = [column for _, column in spread_dates(frame, self.dates_).items()]
        self.categories_ = [present(c) if columns.is_named(c) else None for c in every]
        has_code = [self._has_code(kept) for kept in self.categories_]
        widths = [1 if kept is None else min(len(kept), WIDEST) for kept in self.categories_]
        kinds = np.repeat(np.multiply(has_code, INDICATOR), widths)
        self.kinds_ = np.append(kinds, [CODE] * sum(has_code)).astype(np.int8)
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
        if self.scale != "standard":
            return self._encoded(frame).astype(np.float32, copy=False)
        scaled = np.empty((len(frame), len(self.kinds_)), dtype=np.float32)
        for start in range(0, len(frame), BLOCK):
            features = self._encoded(frame[start : start + BLOCK])
            # A value beyond float32 by the training rows' spread becomes the largest.
            features = (features - self.center_) / self.spread_
            scaled[start : start + BLOCK] = np.clip(features, -LARGEST, LARGEST)
        return scaled

    def _encoded(self, frame: pd.DataFrame) -> Floats:
        """Return the features before they are scaled."""
        frame = spread_dates(frame, self.dates_)
        exact = np.float64 if self.scale == "standard" else np.float32
        features = np.empty((len(frame), len(self.kinds_)), dtype=exact)
        start, code = 0, int(np.sum(self.kinds_ != CODE))
        for kept, median, (_, column) in zip(
            self.categories_, self.medians_, frame.items(), strict=True
        ):
            stop = start + (1 if kept is None else min(len(kept), WIDEST))
            if kept is None:
                numbers = reals(column).astype(exact)
                features[:, start] = np.where(np.isnan(numbers), exact(median), numbers)
            else:
                at = places(column, kept)
                shared = np.where(at < 0, at, at % WIDEST)
                features[:, start:stop] = shared[:, None] == np.arange(stop - start)
                if self._has_code(kept):
                    features[:, code] = at
                    code += 1
            start = stop
        return features

    def _has_code(self, kept: list[str] | None) -> bool:
        return self.codes and kept is not None and len(kept) > 2


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
