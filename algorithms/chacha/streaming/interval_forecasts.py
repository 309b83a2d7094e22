"""Prediction intervals from ChaCha's regressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaseboard.algorithms.chacha.chacha import ChaCha
from leaseboard.algorithms.chacha.safe.safe_race import SafeRace
from leaseboard.algorithms.chacha.streaming.base import OnlineChaCha
from leaseboard.algorithms.chacha.streaming.blocks import is_frame
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.tables.features import Example


class IntervalForecasts(OnlineChaCha):
    """What the default's regressor says beside its forecast: where the label will be."""

    @property
    def levels(self) -> tuple[float, ...]:
        """Those of the intervals that are kept; none by an algorithm without intervals."""
        return self._new_intervals().levels if isinstance(self._racing, ChaCha) else ()

    def predict_interval_one(self, x: Example, level: float = 0.9) -> tuple[float, float]:
        """The interval that holds the label of one example with probability `level`.

        In the long run this share of labels is held, whatever they are; see
        `leaseboard.algorithms.online.conformal`. Nothing is learned.

        Parameters
        ----------
        x : dict
        level : float
            One of the setting `levels`: .5, .8, .9, .95 and .99 unless it is given.

        Returns
        -------
        low, high : float
            Around `predict_one`; -inf and inf while there is too little evidence, at 90 % for nine
            examples, and where too many labels were missed.

        Raises
        ------
        UsageError
            If the level is not kept, or the algorithm has no intervals.

        Examples
        --------
        >>> from leaseboard.algorithms.chacha.streaming import ChaChaRegressor
        >>> model = ChaChaRegressor(b=3)
        >>> model.predict_interval_one({"a": 1.0})
        (-inf, inf)
        >>> for a, noise in np.random.default_rng(0).uniform(-1, 1, (600, 2)).tolist():
        ...     model.learn_one({"a": a}, a + 1 + 0.5 * noise)
        >>> low, high = model.predict_interval_one({"a": 1.0}, level=0.8)
        >>> 1.4 < low < 2 < high < 2.6
        True
        """
        return self._intervals().around(self._forecast(x), level)

    def predict_interval_many(self, X: Any, level: float = 0.9) -> Any:
        """The intervals for a block of examples, none of which is learned.

        Parameters
        ----------
        X : array-like or DataFrame of numbers, shape (n_examples, n_features)
        level : float
            See `predict_interval_one`.

        Returns
        -------
        ndarray of float64, shape (n_examples, 2); of a DataFrame, one with columns low and high
        """
        intervals = self._intervals()
        forecasts = self._forecast_block(X).tolist()
        ends = np.array([intervals.around(f, level) for f in forecasts]).reshape(-1, 2)
        if is_frame(X):
            import pandas as pd  # heavy, and whoever has a DataFrame has it already

            return pd.DataFrame(ends, index=X.index, columns=["low", "high"])
        return ends

    def _intervals(self) -> Intervals:
        race = self._race
        if isinstance(race, SafeRace) and race.ensemble.intervals is not None:
            return race.ensemble.intervals
        return self._new_intervals()

    def _new_intervals(self) -> Intervals:
        if isinstance(self._racing, ChaCha):
            return Intervals(self._racing.levels)
        raise UsageError(
            f"{self.algorithm!r} keeps no prediction intervals: take algorithm='chacha'"
        )
