"""Forecasts of a block of rows, none of whose labels is known before all are predicted."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.online.kernel import Floats
from leaseboard.algorithms.online_automl.safe.later import NOTHING, Parts, Waiting, caller
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.streaming.base import OnlineModel
from leaseboard.algorithms.online_automl.streaming.blocks import examples_of
from leaseboard.algorithms.tables.inputs import labels_of

FORECAST = 10_000
"""Rows that are held as examples at a time."""


class Forecasting(OnlineModel):
    """Model of numbers that forecasts."""

    def forecast_many(self, X: Any, level: float | None = None) -> Any:
        """Predict a block of rows, none of whose labels is known before all are predicted.

        What is predicted of a row goes by its columns, by its time, where a column has dates, or
        else by its place, and by the labels that were learned
        (`leaseboard.algorithms.online_automl.safe.later`).

        Parameters
        ----------
        X : array-like of numbers or DataFrame, shape (n_examples, n_features)
        level : float, optional
            Also return an interval that contains this share of the labels, if they follow on what
            was learned as what `measure_forecast` was given followed on what came before.

        Returns
        -------
        ndarray of float64, shape (n_examples,), or (n_examples, 3) with a `level`
            The prediction, and the ends of its interval.
        """
        rows = []
        for parts, prediction in self._forecast(X):
            half = 0.0 if level is None else self._forecasts.half(level, parts.spread)
            rows.append((prediction, prediction - half, prediction + half))
        found = np.array(rows).reshape(-1, 3)
        return found[:, 0] if level is None else found

    def measure_forecast(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return what `forecast_many` does, and learn how far it was from the labels.

        The examples are not learned: do that afterwards.

        Parameters
        ----------
        X, y
            As for `learn_many`; they follow on what was learned.

        Returns
        -------
        ndarray of float64, shape (n_examples,)
        """
        found, labels = list(self._forecast(X)), labels_of(y)
        if isinstance(self._race, SafeRace):
            for (parts, prediction), label in zip(found, labels.tolist(), strict=True):
                self._forecasts.measure(parts, prediction, label)
        return np.array([prediction for _, prediction in found])

    def _forecast(self, X: Any) -> Iterator[tuple[Parts, float]]:
        race, before = self._race, Waiting()
        for start in range(0, len(X), FORECAST):
            for x in examples_of(X[start : start + FORECAST]):
                if not isinstance(race, SafeRace):
                    yield NOTHING, float(self._predict(x))
                    continue
                predict, entity = self._parts_of(self._row(x))
                parts = predict(*before.add(entity))
                yield parts, self._forecasts.mean(parts)

    def _parts_of(self, row: Floats) -> tuple[Callable[[float, float], Parts], int]:
        """Return what gives the parts of a prediction of the example in `row`, and its entity."""
        race = self._race
        assert isinstance(race, SafeRace)
        made = self._caller
        if made is None or made[0] is not row or made[1] is not race.schema:
            made = self._caller = row, race.schema, caller(race, row)
        return made[2], race.head.entity(row)
