"""The forecast of live models and their companions, with all that they are weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from algorithms.chacha.safe.anchor import ALLOWED, anchored, new_anchor
from algorithms.chacha.safe.front import (
    FARTHEST,
    LAST,
    MEAN_SO_FAR,
    N_COMPANIONS,
    N_PAST,
    RIDGE,
    SEASON,
    Front,
    advance,
    look,
)
from algorithms.chacha.safe.intervals import Intervals
from algorithms.chacha.safe.mixture import (
    GIVEN,
    LOST,
    N_TOTALS,
    OVER_ANCHOR,
    SHARE_OF_BOUND,
    guarded_forecast,
    mix,
)
from algorithms.chacha.safe.scale import HIGH, LOW, MEAN, SETTLED, deviation
from algorithms.online.live import Doubles, Floats, LiveModels, Slots
from algorithms.plain import fill, values_of

BASELINES = (MEAN_SO_FAR, LAST, SEASON, RIDGE)
"""The companions that, beside the model in slot 0, the guard compares with."""


class Ensemble:
    """The models of `b` slots, and for a regression the companions, as one forecaster.

    Parameters
    ----------
    models : LiveModels
    n_features : int
    b : int
        Slots for models; the initial configuration is in slot 0.
    rho, gamma : float
        See `algorithms.chacha.safe.mixture.mix`.
    represents : bool
        Whether models see representations, and labels in a unit that follows them.
    classes : bool
        The labels are -1 and 1; there are no companions.
    levels : sequence of float
        Of the prediction intervals, which classes do not have.

    Attributes
    ----------
    losses, scores : ndarray of float64, shape (b,) or (b + N_COMPANIONS,)
        See `algorithms.chacha.safe.mixture.mix`, as for `totals`, `sums` and `anchor`.
    place : ndarray of float64, shape (2,)
        Models learn labels less the first and over the second; 0 while all labels are equal.
    """

    kept: ClassVar[tuple[str, ...]] = ("losses", "totals", "scores", "sums", "anchor", "place")

    def __init__(
        self,
        models: LiveModels,
        n_features: int,
        b: int,
        *,
        rho: float,
        gamma: float,
        represents: bool,
        classes: bool,
        levels: Sequence[float] = (),
    ) -> None:
        self.models, self.b = models, b
        self.rho, self.gamma = rho, gamma
        self.represents, self.classes = represents and not classes, classes
        self.front = Front(n_features)
        n = b if classes else b + N_COMPANIONS
        self.experts = np.array([0, *([] if classes else [b + k for k in BASELINES])])
        self.losses, self.scores, self.sums = np.zeros(n), np.zeros(n), np.zeros((n, 4))
        self.totals = np.zeros(N_TOTALS)
        self.anchor = new_anchor(len(self.experts))
        self.intervals = None if classes else Intervals(levels)
        self.place = np.array([0.0, 0.0 if self.represents else 1.0])

    def mixed(self, live: Slots) -> Slots:
        """The `live` slots and the companions'."""
        return np.concatenate((live, np.arange(self.b, len(self.losses))))

    def predict(self, example: Floats, live: Slots) -> float:
        """The forecast for one example; nothing is learned."""
        predictions, values = np.zeros((1, self.b), dtype=np.float32), np.zeros(len(self.losses))
        if self.classes:
            self.models.predict(example, live, predictions[0])
            values[:] = predictions[0]
            base = float(values[0])
        else:
            d = len(example)
            wide = np.empty(N_PAST + 2 * d, dtype=np.float32)
            look(example, np.empty(N_PAST + d), wide, values[self.b :], *self.front.arrays)
            seen = wide if self.represents else example
            self.models.predict(seen, live, predictions[0])
            self._value(values[None], predictions, self.front.scale[None, [LOW, HIGH]])
            base = float(np.float32(anchored(values, self.experts, self.anchor)))
        return float(
            guarded_forecast(
                values, self.mixed(live), base, self.losses, self.totals, self.rho, self.classes
            )
        )

    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        champion: int,
        forecasts: Floats,
    ) -> None:
        """Forecast each example of a block, which `until` allows, and learn it."""
        n, d = examples.shape
        predictions = np.zeros((n, self.b), dtype=np.float32)
        values = np.zeros((n, len(self.losses)))
        shown, limits = labels.astype(np.float64), np.zeros((n, 2))
        if self.classes:
            self.models.learn(examples, labels, importances, live, predictions)
            values[:] = predictions
        else:
            wide = np.empty((n, N_PAST + 2 * d), dtype=np.float32)
            companions = values[:, self.b :]
            advance(
                examples, labels, importances, wide, companions, shown, limits, *self.front.arrays
            )  # fmt: skip
            center, spread = self.place
            if spread:
                far = np.clip((shown - center) / spread, -FARTHEST, FARTHEST)
                placed = far.astype(np.float32)
                seen = wide if self.represents else examples
                self.models.learn(seen, placed, importances, live, predictions)
            self._value(values, predictions, limits)
        mix(
            values,
            labels,
            shown,
            limits,
            self.mixed(live),
            self.experts,
            champion,
            self.gamma,
            self.rho,
            self.classes,
            self.losses,
            self.totals,
            self.anchor,
            self.sums,
            self.scores,
            forecasts,
        )
        if self.intervals is not None:
            self.intervals.learn(labels, importances, forecasts)

    def until(self, labels: Floats, at: int) -> int:
        """How many of `labels`, which come after `at` others, go before `move` has to be asked."""
        n = len(labels)
        if not self.represents:
            return n
        n = min(n, (1 << at.bit_length()) - at)
        if not self.place[1]:  # until two labels differ
            other = np.flatnonzero(labels[:n] != self.front.scale[MEAN])
            n = min(n, 1 + int(other[0])) if len(other) else n
        return n

    def move(self, at: int, live: Slots) -> None:
        """Let models learn labels that are standardised anew, after 4, 8, 16, ... examples.

        What they have learned is expressed in the new unit, so no prediction changes.
        """
        again = at >= SETTLED and (at & (at - 1) == 0 or not self.place[1])
        spread = deviation(self.front.scale)
        if not (self.represents and again and spread):
            return
        place = np.array([self.front.scale[MEAN], spread])
        if self.place[1]:
            center, old = self.place
            self.models.rescale(live, old / spread, (center - place[0]) / spread)
        self.place[:] = place

    @property
    def unit(self) -> tuple[float, float]:
        """What a model's forecasts are multiplied by, last, and what is added: (center, spread).

        While all labels are equal no model has learned one, and the mean is the forecast.
        """
        center, spread = self.place.tolist()
        return (center, spread) if spread else (float(self.front.scale[MEAN]), 0.0)

    def promised(self) -> float:
        """What the forecasts may have lost by the guard's theorem, in the labels' own unit."""
        best = float(self.scores[self.experts].min())
        allowed = best + float(self.anchor[ALLOWED])
        return (1.0 + self.rho) * allowed + float(self.totals[GIVEN])

    @property
    def lost(self) -> float:
        """What the forecasts have lost."""
        return float(self.totals[LOST])

    def notes(self) -> dict[str, float]:
        """Of a regression: how near the loss came to what the guarantee allows, and intervals.

        ``over_anchor`` is the largest ratio of the loss, less what the guard was given, to the
        anchor's, at most 1 + ρ; ``share_of_bound`` that of the loss to the bound by the baselines.
        For the rest see `Intervals.notes`.
        """
        if self.intervals is None:
            return {}
        over, share = self.totals[[OVER_ANCHOR, SHARE_OF_BOUND]].tolist()
        told = self.intervals.notes(deviation(self.front.scale))
        return {"over_anchor": over, "share_of_bound": share, **told}

    def _value(self, values: Doubles, predictions: Floats, limits: Doubles) -> None:
        """Write what the live models forecast, in the labels' own unit and range."""
        center, spread = self.place
        mine = values[:, : self.b]
        if spread:
            np.clip(center + spread * predictions, limits[:, :1], limits[:, 1:], out=mine)
        else:
            mine[:] = values[:, self.b + MEAN_SO_FAR, None]

    def state(self) -> dict[str, Any]:
        """All but the models, as plain values."""
        intervals = None if self.intervals is None else self.intervals.state()
        return values_of(self, self.kept) | {"front": self.front.state(), "intervals": intervals}

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if it is of other sizes."""
        fill(self, state, self.kept)
        self.front.fill(state["front"])
        if self.intervals is not None:
            self.intervals.fill(state["intervals"])
