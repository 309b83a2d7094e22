"""Forecasts of ChaCha's regressor whose labels come later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from leaseboard.algorithms.chacha.chacha import ChaCha
from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.safe.ensemble import N_PARTS, Waited
from leaseboard.algorithms.chacha.safe.safe_race import SafeRace
from leaseboard.algorithms.chacha.safe.scale import SHOWN
from leaseboard.algorithms.chacha.streaming.interval_forecasts import IntervalForecasts
from leaseboard.algorithms.chacha.streaming.later_labels import Doubles
from leaseboard.algorithms.tables.features import Example


class WaitingForecasts(IntervalForecasts):
    """What the default's regressor makes of forecasts that wait, see `forecast_one`.

    They are weighed by how forecasts that waited did
    (`leaseboard.algorithms.online.conformal`), so they may differ from `predict_one`. What
    the model knows of labels does not depend on that.
    """

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        algorithm: str = "chacha",
        pending: int = 10_000,
        **settings: Any,
    ) -> None:
        super().__init__(namespaces, oracle, seed, algorithm, pending, **settings)
        self._waited: Waited | None = None

    def forecast_interval_one(self, key: Hashable, level: float = 0.9) -> tuple[float, float]:
        """The interval around a forecast that waits for its label.

        It is made of the errors of forecasts that waited, so it is as wide as the delay of labels
        makes it, which `predict_interval_one` does not know of. At 90 % nine labels must have been
        answered before the forecast.

        Raises
        ------
        UsageError
            If the id does not wait, the level is not kept, or the algorithm has no intervals.
        """
        _, forecast, _, said = self._pending.get(key)
        if not len(said):
            return self._new_intervals().around(forecast, level)
        return self._with_waited().around(forecast, level, said)

    def foresee_interval_one(self, x: Example, level: float = 0.9) -> tuple[float, float]:
        """What `forecast_interval_one` would say of an example, remembering nothing."""
        forecast, said = self._say(x)
        if not len(said):
            return self._new_intervals().around(forecast, level)
        return self._with_waited().around(forecast, level, said)

    def answer_one(
        self, key: Hashable, y: Any, w: float = 1.0, *, x: Example | None = None
    ) -> None:
        """See `LaterLabels.answer_one`."""
        _, forecast, delay, said = self._pending.get(key)
        race = self._race
        super().answer_one(key, y, w, x=x)
        if isinstance(race, SafeRace) and w > 0:
            shown = float(race.ensemble.front.scale[SHOWN])
            self._learning = True
            self._with_waited().settle(float(y), shown, forecast, said, delay)
            self._learning = False

    def _say(self, x: Example) -> tuple[Any, Doubles]:
        if not isinstance(self._racing, ChaCha):
            return super()._say(x)
        row, parts = self._row(x), np.zeros(N_PARTS)
        if isinstance(self._race, SafeRace):
            parts = self._race.parts(row)
        return self._with_waited().say(parts)

    def _n_said(self) -> int:
        return Waited(self._racing.levels).n_said if isinstance(self._racing, ChaCha) else 0

    def _with_waited(self) -> Waited:
        if self._waited is None:
            assert isinstance(self._racing, ChaCha)
            self._waited = Waited(self._racing.levels)
        return self._waited

    def _state(self) -> dict[str, Any]:
        waited = None if self._waited is None else self._waited.state()
        return super()._state() | {"waited": waited}

    def _fill(self, state: dict[str, Any]) -> None:
        super()._fill(state)
        if state["waited"] is not None:
            self._with_waited().fill(state["waited"])
