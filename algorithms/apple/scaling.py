"""What becomes of raw columns before they are multiplied: clipped, and brought to a common scale.

The update does not mind a column's unit, since it divides by the largest magnitude. It does mind
an outlier, which is that magnitude and leaves nothing of all other values, and an offset, which
makes a product of two columns a copy of them. So a column is clipped at high and low percentiles,
and its mean taken away. A column that is mostly zeros keeps them: what is rare there is no
outlier, and without its zeros it would cost a feature in every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.rows import DENSE_ENOUGH
from leaseboard.algorithms.benches.holdout import Rows

CLIP = 0.05
"""Percent of the values at either end, as the paper's figure for its set of EEG needs it."""

Values = NDArray[np.floating]


@dataclass(frozen=True)
class ColumnScale:
    """A value is clipped to `low` and `high`, then `shift` taken away, then divided by `spread`.

    Examples
    --------
    >>> column = ColumnScale.fitted(np.array([1.0, 2.0, 3.0, 1000.0]), clip=25.0, scale=False)
    >>> column.of(np.array([0.0, 2.0, 1000.0])).tolist()
    [1.75, 2.0, 252.25]
    >>> ColumnScale.fitted(np.array([0.0, 0, 0, 0, -4.0]), clip=25.0, scale=True).spread
    4.0
    """

    low: float = -np.inf
    high: float = np.inf
    shift: float = 0.0
    spread: float = 1.0

    @classmethod
    def fitted(cls, values: Values, clip: float, scale: bool) -> Self:
        """What becomes of a column with these values in the training rows.

        Parameters
        ----------
        values : ndarray of float, shape (n_examples,)
            Finite.
        clip : float
            Percent of the values at either end.
        scale : bool
            Whether to standardise, or a column of mostly zeros to divide by its magnitude.
        """
        if not clip and not scale:
            return cls()
        values = values.astype(np.float64)
        if np.count_nonzero(values) <= DENSE_ENOUGH * len(values):
            largest = float(np.abs(values).max(initial=0.0))
            return cls(spread=largest) if scale and largest > 0 else cls()
        if ((values == 0) | (values == 1)).all():
            return cls()
        low, high = np.percentile(values, [clip, 100 - clip]) if clip else (-np.inf, np.inf)
        if not scale:
            return cls(float(low), float(high))
        values = np.clip(values, low, high)
        mean, spread = float(values.mean()), float(values.std())
        return cls(float(low), float(high), mean, spread if spread > 0 else 1.0)

    def of(self, values: Values) -> NDArray[np.float64]:
        """The values, treated so."""
        clipped = np.clip(values.astype(np.float64), self.low, self.high)
        return np.asarray((clipped - self.shift) / self.spread)


class RowScale:
    """The scales of all columns of rows; sparse rows keep their zeros, and are not clipped."""

    def __init__(self, rows: Rows, clip: float, scale: bool) -> None:
        if sparse.issparse(rows):
            largest = abs(rows).max(axis=0).toarray().ravel() if rows.shape[0] else ()
            spreads = [float(most) if scale and most > 0 else 1.0 for most in largest]
            self.columns = [ColumnScale(spread=spread) for spread in spreads]
        else:
            self.columns = [ColumnScale.fitted(column, clip, scale) for column in rows.T]

    def of(self, rows: Rows) -> Rows:
        """The rows, treated so, as float32."""
        if sparse.issparse(rows):
            spreads = np.array([column.spread for column in self.columns])
            return sparse.csr_array(rows / spreads, dtype=np.float32)
        out = np.empty(rows.shape, dtype=np.float32)
        for place, column in enumerate(self.columns):
            out[:, place] = column.of(rows[:, place])
        return out
