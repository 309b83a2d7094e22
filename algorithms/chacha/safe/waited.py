"""Forecasts whose labels come later: which part of the race to trust, and how far off they are.

The race weighs its models by how they forecast the next label. What forecasts one label ahead by
following the last ones may be worse than the mean a hundred ahead. So of forecasts that wait the
race's *parts* (its forecast, that of the initial configuration, its companions) are weighed anew,
each by the losses of what it said when the forecast was made, as models are in
`leaseboard.algorithms.chacha.safe.mixture`; and intervals are of the errors of what was then
forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leaseboard.algorithms.chacha.safe.front import N_COMPANIONS
from leaseboard.algorithms.chacha.safe.intervals import Intervals
from leaseboard.algorithms.chacha.safe.mixture import learning_rate, posterior_mean
from leaseboard.algorithms.online.conformal import Doubles
from leaseboard.algorithms.plain import fill_array

N_PARTS = 2 + N_COMPANIONS

MEMORY = 1000.0
"""Answers after which a loss counts 1/e."""


class Waited:
    """What became of forecasts that waited.

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
