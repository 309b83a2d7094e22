"""Encoding of the samples environment, for probes and the registered configuration."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from leaseboard.tasks.fetch import columns
from leaseboard.tasks.preprocess.encoding import (
    EVERY,
    declared,
    known_dates,
    places,
    reals,
    spread_dates,
)

Rows = NDArray[Any] | slice


@dataclass(eq=False, repr=False)
class UnitRangeEncoder(TransformerMixin, BaseEstimator):
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
        del y
        self.dates_ = known_dates(frame, rows)
        every = [column for _, column in spread_dates(frame, self.dates_).items()]
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
        frame = spread_dates(frame, self.dates_)
        n_rows = len(frame) if isinstance(rows, slice) else len(rows)
        features = np.empty((n_rows, len(self.means_)), dtype=np.float32)
        every = zip(self.categories_, frame.items(), strict=True)
        for i, (known, (_, column)) in enumerate(every):
            values = _numbers(column, known)[rows]
            values[np.isnan(values)] = self.means_[i]
            features[:, i] = (values - self.low_[i]) / self.spread_[i]
        return features


def _numbers(column: pd.Series, known: list[str] | None) -> NDArray[np.float32]:
    """Return a column's numbers, gaps as NaN, or its places among the `known` categories."""
    if known is not None:
        return places(column, known).astype(np.float32)
    return np.array(reals(column), dtype=np.float32)
