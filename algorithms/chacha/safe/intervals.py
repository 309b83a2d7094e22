"""Prediction intervals of one forecaster, at several levels; forecasts whose labels come later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.chacha.safe.front import N_COMPANIONS
from leaseboard.algorithms.chacha.safe.mixture import learning_rate, posterior_mean
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.conformal import (
    AT,
    BOUNDED,
    COVERED,
    GIVEN,
    LEAST_STEERED,
    MOST_MISSED,
    N_LOCAL,
    SCORES,
    STEERED,
    WIDTHS,
    WINDOW,
    Conformal,
    Doubles,
    Floats,
    allowed_misses,
    ask,
    follow,
    rates_after,
    settle,
)
from leaseboard.algorithms.plain import fill, fill_array, values_of

TOLD = 0.9
"""The level that boards tell of, which is always kept."""

LEVELS = (0.5, 0.8, TOLD, 0.95, 0.99)

_OUTWARD = np.array([-np.inf, np.inf], dtype=np.float32)

HIGHEST = SCORES / (SCORES + 1.0)
"""No level above has a quantile of so many scores."""


class Intervals:
    """The state of adaptive conformal inference, see `leaseboard.algorithms.online.conformal`.

    Parameters
    ----------
    levels : sequence of float
        Between 0 and `HIGHEST`, beside `TOLD`.
    later : bool
        Labels come later. Then theorem 1 is given up: misses that are not known yet cannot be
        counted, and to answer old ones by unbounded intervals would make misses come in waves.
    """

    kept: ClassVar[tuple[str, ...]] = Conformal._fields[2:]
    """Those of `conformal` that are learned."""

    def __init__(self, levels: Sequence[float] = LEVELS, *, later: bool = False) -> None:
        self.levels = tuple(sorted({TOLD, *levels}))
        n, alphas = len(self.levels), np.round(1.0 - np.array(self.levels), 12)
        most = np.inf if later else 0.0
        self.conformal = Conformal(
            alphas=alphas,
            most=np.array([most + allowed_misses(alpha) for alpha in alphas]),
            scores=np.zeros((2, SCORES)),
            ordered=np.zeros((2, SCORES)),
            misses=np.zeros((n, WINDOW), dtype=np.uint8),
            tracked=np.zeros((n, MOST_MISSED + 1)),
            running=np.zeros(5),
            weights=np.zeros(N_LOCAL),
        )
        self.conformal.tracked[:, STEERED] = alphas
        self.rates, self.longest = rates_after(alphas, 0), np.zeros(1)  # delay

    def learn(self, labels: Floats, importances: Floats, forecasts: Floats) -> None:
        """Take the labels of forecasts that were made before them, in order."""
        follow(labels, importances, forecasts, self.rates, self.conformal)

    def ask(self, forecast: float) -> Doubles:
        """What `settle` needs of the intervals that a forecast has, shape (n_asked,)."""
        asked = np.empty(self.n_asked)
        ask(forecast, self.conformal, *self._parts(asked))
        return asked

    def settle(self, label: float, forecast: float, asked: Doubles, delay: int) -> None:
        """Take the label of a forecast whose intervals were asked for `delay` forecasts ago."""
        self.longest[0] = max(self.longest[0], delay)
        rates = rates_after(self.conformal.alphas, int(self.longest[0]))
        settle(abs(label - forecast), forecast, *self._parts(asked), rates, self.conformal)

    @property
    def n_asked(self) -> int:
        """How many numbers `ask` answers with."""
        return N_LOCAL + 1 + 3 * len(self.levels)

    def _parts(self, asked: Doubles) -> tuple[Doubles, Doubles]:
        return asked[: N_LOCAL + 1], asked[N_LOCAL + 1 :].reshape(-1, 3)

    def around(
        self, forecast: float, level: float, asked: Doubles | None = None
    ) -> tuple[float, float]:
        """The interval around a forecast; unbounded where there is too little evidence.

        Parameters
        ----------
        forecast, level : float
        asked : ndarray of float64, shape (n_asked,), optional
            What `ask` answered when the forecast was made.

        Raises
        ------
        UsageError
            If the level is none of those that are kept.
        """
        if level not in self.levels:
            raise UsageError(
                f"level {level!r} is none of {', '.join(map(str, self.levels))}, which are kept"
                f" from the first example on: name it there, as in levels=({level!r},)"
            )
        _, halves = self._parts(self.ask(forecast) if asked is None else asked)
        half = float(halves[self.levels.index(level), GIVEN])
        # Labels are learned as float32: what rounds to one that is held is held.
        low, high = np.nextafter(
            np.array([forecast - half, forecast + half], dtype=np.float32), _OUTWARD
        )
        return float(low), float(high)

    def notes(self, deviation: float) -> dict[str, float]:
        """What came of the intervals at `TOLD` after the first 1,000 examples.

        ``coverage``; ``interval_width``, the mean width over the labels' `deviation`, of intervals
        that are bounded; ``unbounded_intervals``, the share of the others; and, where there are
        1,000 more, ``coverage_in_worst_window`` of 1,000.
        """
        level = self.conformal.tracked[self.levels.index(TOLD)]
        n = self.conformal.running[AT] - WINDOW
        if n <= 0:
            return {}
        told = {
            "coverage": level[COVERED] / n,
            "unbounded_intervals": 1.0 - level[BOUNDED] / n,
        }
        if level[BOUNDED] and deviation:
            told["interval_width"] = level[WIDTHS] / level[BOUNDED] / deviation
        if n >= WINDOW:
            told["coverage_in_worst_window"] = 1.0 - level[MOST_MISSED] / WINDOW
        return {name: float(value) for name, value in told.items()}

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return {**values_of(self.conformal, self.kept), "longest": self.longest}

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if no intervals have it."""
        fill(self.conformal, state, self.kept)
        fill_array(self.longest, state["longest"])
        steered, at = self.conformal.tracked[:, STEERED], self.conformal.running[AT]
        if not all(np.isfinite(array).all() for array in (*self.conformal[2:], self.longest)):
            raise ValueError("a value is not finite")
        if not ((steered >= LEAST_STEERED) & (steered <= 1.0)).all():
            raise ValueError(f"{steered} must be from {LEAST_STEERED} to 1")
        if not (0 <= at < 2.0**53 and at == int(at)):
            raise ValueError(f"{at} is no number of examples")


N_PARTS = 2 + N_COMPANIONS

MEMORY = 1000.0
"""Answers after which a loss counts 1/e."""


class Waited:
    """What became of forecasts that waited for their labels.

    The race weighs its models by how they forecast the next label. What forecasts one label ahead
    by following the last ones may be worse than the mean a hundred ahead. So of forecasts that
    wait the race's *parts* (its forecast, that of the initial configuration, its companions) are
    weighed anew, each by the losses of what it said when the forecast was made, as models are in
    `leaseboard.algorithms.chacha.safe.mixture`; and intervals are of the errors of what was then
    forecast.

    Parameters
    ----------
    levels : sequence of float
        Of intervals.
    """

    def __init__(self, levels: Sequence[float]) -> None:
        self.intervals = Intervals(levels, later=True)
        self.losses, self.mass = np.zeros(N_PARTS), np.zeros(1)

    @property
    def n_said(self) -> int:
        """How many numbers are kept of a forecast."""
        return N_PARTS + self.intervals.n_asked

    def say(self, parts: Doubles) -> tuple[float, Doubles]:
        """The forecast by its parts, and what `settle` needs of it, shape (n_said,)."""
        forecast = float(parts[0])
        if self.mass[0]:
            places = np.arange(N_PARTS)
            eta = learning_rate(places, self.losses, self.mass[0])
            forecast = float(posterior_mean(parts, places, self.losses, eta))
        return forecast, np.concatenate((parts, self.intervals.ask(forecast)))

    def around(self, forecast: float, level: float, said: Doubles) -> tuple[float, float]:
        """The interval that a forecast was given."""
        return self.intervals.around(forecast, level, said[N_PARTS:])

    def settle(
        self, label: float, shown: float, forecast: float, said: Doubles, delay: int
    ) -> None:
        """Take the label of a forecast, as it is and as learners are shown it."""
        kept = 1.0 - 1.0 / MEMORY
        self.losses[:] = kept * self.losses + (said[:N_PARTS] - shown) ** 2
        self.mass[:] = kept * self.mass + 1.0
        self.intervals.settle(label, forecast, said[N_PARTS:], delay)

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        state = self.intervals.state()
        return {"intervals": state, "losses": self.losses, "mass": self.mass}

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if nothing that waited has it."""
        self.intervals.fill(state["intervals"])
        fill_array(self.losses, state["losses"])
        fill_array(self.mass, state["mass"])
        if not (np.isfinite(self.losses).all() and 0 <= self.mass[0] <= MEMORY):
            raise ValueError("losses must be finite, and their mass from 0 to 1,000")
