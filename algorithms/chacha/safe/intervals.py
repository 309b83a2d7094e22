"""Prediction intervals of one forecaster, at several levels, with what they have come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from algorithms.errors import UsageError
from algorithms.online.conformal import (
    AT,
    BOUNDED,
    COVERED,
    LEAST_STEERED,
    MOST_MISSED,
    N_LOCAL,
    SCORES,
    STEERED,
    WIDTHS,
    WINDOW,
    Floats,
    allowed_misses,
    follow,
    half_widths,
    local_level,
)
from algorithms.plain import fill, values_of

TOLD = 0.9
"""The level that boards tell of, which is always kept."""

LEVELS = (0.5, 0.8, TOLD, 0.95, 0.99)

HIGHEST = SCORES / (SCORES + 1.0)
"""No level above has a quantile of so many scores."""


class Intervals:
    """The state of adaptive conformal inference, see `algorithms.online.conformal`.

    Parameters
    ----------
    levels : sequence of float
        Between 0 and `HIGHEST`, beside `TOLD`.
    """

    kept: ClassVar[tuple[str, ...]] = (
        "scores",
        "ordered",
        "misses",
        "tracked",
        "running",
        "weights",
    )

    def __init__(self, levels: Sequence[float] = LEVELS) -> None:
        self.levels = tuple(sorted({TOLD, *levels}))
        self.alphas = np.round(1.0 - np.array(self.levels), 12)
        self.most = np.array([float(allowed_misses(alpha)) for alpha in self.alphas])
        self.scores, self.ordered = np.zeros((2, 2, SCORES))
        self.misses = np.zeros((len(self.levels), WINDOW), dtype=np.uint8)
        self.tracked = np.zeros((len(self.levels), MOST_MISSED + 1))
        self.tracked[:, STEERED] = self.alphas
        self.running, self.weights = np.zeros(5), np.zeros(N_LOCAL)

    def learn(self, labels: Floats, importances: Floats, forecasts: Floats) -> None:
        """Take the labels of forecasts that were made before them, in order."""
        arrays = (getattr(self, name) for name in self.kept)
        follow(labels, importances, forecasts, self.alphas, self.most, *arrays)

    def around(self, forecast: float, level: float) -> tuple[float, float]:
        """The interval around a forecast; unbounded where there is too little evidence.

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
        k = self.levels.index(level)
        state = self.ordered, self.running
        local = local_level(forecast, *state, self.weights, np.empty(N_LOCAL))
        half, _, _ = half_widths(self.alphas[k], self.most[k], local, *state, self.tracked[k])
        return forecast - half, forecast + half

    def notes(self, deviation: float) -> dict[str, float]:
        """What came of the intervals at `TOLD` after the first 1,000 examples.

        ``coverage``; ``interval_width``, the mean width over the labels' `deviation`, of intervals
        that are bounded; ``unbounded_intervals``, the share of the others; and, where there are
        1,000 more, ``coverage_in_worst_window`` of 1,000.
        """
        level, n = self.tracked[self.levels.index(TOLD)], self.running[AT] - WINDOW
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
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if no intervals have it."""
        fill(self, state, self.kept)
        arrays = [getattr(self, name) for name in self.kept]
        steered, at = self.tracked[:, STEERED], self.running[AT]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("a value is not finite")
        if not ((steered >= LEAST_STEERED) & (steered <= 1.0)).all():
            raise ValueError(f"{steered} must be from {LEAST_STEERED} to 1")
        if not (0 <= at < 2.0**53 and at == int(at)):
            raise ValueError(f"{at} is no number of examples")
