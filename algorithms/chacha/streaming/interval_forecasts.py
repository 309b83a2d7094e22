"""Prediction intervals from ChaCha's regressor."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from algorithms.chacha.chacha import ChaCha
from algorithms.chacha.safe.intervals import Intervals
from algorithms.chacha.safe.safe_race import SafeRace
from algorithms.chacha.streaming.base import OnlineChaCha
from algorithms.errors import UsageError
from algorithms.online.features import Example


class IntervalForecasts(OnlineChaCha):
    """What the default's regressor says beside its forecast: where the label will be."""

    _later: Intervals | None = None

    def predict_interval_one(self, x: Example, level: float = 0.9) -> tuple[float, float]:
        """The interval that holds the label of one example with probability `level`.

        In the long run this share of labels is held, whatever they are; see
        `algorithms.online.conformal`. Nothing is learned.

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
        >>> from algorithms.chacha.streaming import ChaChaRegressor
        >>> model = ChaChaRegressor(b=3)
        >>> model.predict_interval_one({"a": 1.0})
        (-inf, inf)
        >>> for t in range(300):
        ...     model.learn_one({"a": t % 3 - 1.0}, t % 3 + 0.1 * (t % 7))
        >>> low, high = model.predict_interval_one({"a": 1.0}, level=0.8)
        >>> 1.9 < low < 2.3 < high < 2.8
        True
        """
        return self._intervals().around(self._forecast(x), level)

    def predict_interval_many(self, X: ArrayLike, level: float = 0.9) -> Any:
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
        if isinstance(X, pd.DataFrame):
            return pd.DataFrame(ends, index=X.index, columns=["low", "high"])
        return ends

    def forecast_interval_one(self, key: Hashable, level: float = 0.9) -> tuple[float, float]:
        """The interval around a forecast that waits for its label, see `forecast_one`.

        It is made of the errors of forecasts that waited, so it is as wide as the delay of labels
        makes it, which `predict_interval_one` does not know of. At 90 % nine labels must have been
        answered before the forecast.

        Raises
        ------
        UsageError
            If the id does not wait, the level is not kept, or the algorithm has no intervals.
        """
        _, forecast, _, asked = self._pending.get(key)
        return self._of_waiting().around(forecast, level, asked)

    def answer_one(self, key: Hashable, y: Any, w: float = 1.0) -> None:
        """See `LaterLabels.answer_one`."""
        _, forecast, delay, asked = self._pending.get(key)
        super().answer_one(key, y, w)
        if len(asked) and w > 0:
            self._of_waiting().settle(float(y), forecast, asked, delay)

    def _beside(self, forecast: Any) -> NDArray[np.float64]:
        if not isinstance(self._racing, ChaCha):
            return np.empty(0)
        return self._of_waiting().ask(forecast)

    def _n_beside(self) -> int:
        racing = self._racing
        return Intervals(racing.levels).n_asked if isinstance(racing, ChaCha) else 0

    def _of_waiting(self) -> Intervals:
        if self._later is None:
            self._later = self._new_intervals(later=True)
        return self._later

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"later": None if self._later is None else self._later.state()}

    def _fill(self, state: dict[str, Any]) -> None:
        super()._fill(state)
        if state["later"] is not None:
            self._of_waiting().fill(state["later"])

    def _intervals(self) -> Intervals:
        race = self._race
        if isinstance(race, SafeRace) and race.ensemble.intervals is not None:
            return race.ensemble.intervals
        return self._new_intervals()

    def _new_intervals(self, *, later: bool = False) -> Intervals:
        if isinstance(self._racing, ChaCha):
            return Intervals(self._racing.levels, later=later)
        raise UsageError(
            f"{self.algorithm!r} keeps no prediction intervals: take algorithm='chacha'"
        )
