"""The forecast of live models and their companions, with all that they are weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.chacha.safe.aggregate import ALLOWED, join, new_aggregate
from leaseboard.algorithms.chacha.safe.front import (
    LAST,
    MEAN_SO_FAR,
    N_COMPANIONS,
    N_PAST,
    NARROW,
    RIDGE,
    RIDGE_ON_PAST,
    SEASON,
    Front,
    look,
    width,
)
from leaseboard.algorithms.chacha.safe.intervals import Intervals
from leaseboard.algorithms.chacha.safe.mixture import (
    FIRST,
    LOST,
    N_TOTALS,
    SHARE_OF_BOUND,
    after_forecast,
    mix_models,
    targets_of,
)
from leaseboard.algorithms.chacha.safe.odds import Odds
from leaseboard.algorithms.chacha.safe.scale import MEAN, SETTLED, deviation
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online.live import KernelModels, LiveModels, Slots
from leaseboard.algorithms.plain import fill, values_of

BASELINES = (MEAN_SO_FAR, LAST, SEASON, RIDGE)
"""The companions that, with the model in slot 0, the forecast stays near the best of; of more than
`NARROW` features the regression on selected ones too."""


class Ensemble:
    """The models of `b` slots and the companions as one forecaster.

    Parameters
    ----------
    models : LiveModels
    n_features : int
    b : int
        Slots for models; the initial configuration is in slot 0.
    gamma : float
        See `leaseboard.algorithms.chacha.safe.mixture.mix`.
    represents : bool
        Whether models see representations, and labels in a unit that follows them.
    classes : bool
        The labels are -1 and 1, and what is forecast are log odds of the second class.
    levels : sequence of float
        Of the prediction intervals, which classes do not have.

    Attributes
    ----------
    losses, scores : ndarray of float64, shape (b + N_COMPANIONS,)
        See `leaseboard.algorithms.chacha.safe.mixture.mix`, as for `totals`, `sums` and
        `aggregated`.
    place : ndarray of float64, shape (2,)
        Models learn labels less the first and over the second; 0 while all labels are equal.
    """

    kept: ClassVar[tuple[str, ...]] = ("losses", "totals", "scores", "sums", "aggregated", "place")

    def __init__(
        self,
        models: LiveModels,
        n_features: int,
        b: int,
        *,
        gamma: float,
        represents: bool,
        classes: bool,
        levels: Sequence[float] = (),
    ) -> None:
        self.models, self.b = models, b
        self.gamma = gamma
        self.represents, self.classes = represents, classes
        self.front, self.odds = Front(n_features, classes), Odds(b) if classes else None
        n = b + N_COMPANIONS
        self.baselines = self._protected(n_features)
        self.losses, self.scores, self.sums = np.zeros(n), np.zeros(n), np.zeros((n, 4))
        self.totals = np.zeros(N_TOTALS)
        self.aggregated = new_aggregate(1 + len(self.baselines))
        self.intervals = None if classes else Intervals(levels)
        self.place = np.array([0.0, 0.0 if self.represents else 1.0])

    def _protected(self, n_features: int) -> Slots:
        more = (RIDGE_ON_PAST,) if n_features > NARROW else ()
        return np.array([0, *(self.b + k for k in (*BASELINES, *more))])

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        self.front.grow(n_features)
        protected = self._protected(n_features)
        if len(protected) > len(self.baselines):
            self.aggregated = join(self.aggregated)
            # What it lost before it joined is what the forecast has lost.
            self.scores[protected[-1]] = self.totals[LOST] + self.totals[FIRST]
        self.baselines = protected

    def predict(self, example: Floats, live: Slots, champion: int) -> float:
        """The forecast for one example; nothing is learned."""
        return self._look(example, live, champion)[0]

    def parts(self, example: Floats, live: Slots, champion: int) -> Doubles:
        """The forecast, that of the model in slot 0, and those of the companions."""
        forecast, row = self._look(example, live, champion)
        return np.concatenate(([forecast, row[0]], row[self.b :]))

    def _look(self, example: Floats, live: Slots, champion: int) -> tuple[float, Doubles]:
        """The forecast, and what the models and the companions forecast, shape (n_slots,)."""
        example, front, n_slots = uniform(example), self.front, len(self.losses)
        d, row = len(example), np.zeros(n_slots)
        wide, extended = np.empty(width(d), dtype=np.float32), np.empty(N_PAST + d)
        look(example, extended, wide, row[self.b :], front.arrays, self.classes, front.period)
        predictions = np.zeros(self.b, dtype=np.float32)
        self.models.predict(wide if self.represents else example, live, predictions)
        forecast: float = after_forecast(
            row, predictions, self.place, front.scale, live, self.baselines, self.losses,
            self.totals, self.aggregated,
        )  # fmt: skip
        if self.odds is not None:
            forecast = self.odds.margin(row, live, champion, forecast)
        return forecast, row

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
        examples, labels, importances = map(uniform, (examples, labels, importances))
        n, d = examples.shape
        values, shown, limits = np.zeros((n, len(self.losses))), np.zeros(n), np.zeros((n, 2))
        wide = np.empty((n, width(d)), dtype=np.float32)
        self.front.learn(examples, labels, importances, wide, values, shown, limits)
        predictions = np.zeros((n, self.b), dtype=np.float32)
        if self.place[1]:
            seen, targets = wide if self.represents else examples, targets_of(shown, self.place)
            self.models.learn(seen, targets, importances, live, predictions)
        mix_models(
            values,
            predictions,
            self.place,
            limits,
            labels,
            importances,
            shown,
            live,
            self.baselines,
            champion,
            self.gamma,
            self.losses,
            self.totals,
            self.aggregated,
            self.sums,
            self.scores,
            forecasts,
        )
        if self.intervals is not None:
            self.intervals.learn(labels, importances, forecasts)
        if self.odds is not None:
            self.odds.learn(values, live, champion, labels, importances, forecasts)

    def begin(self, slot: int, parent: int | None) -> None:
        """Weigh the new model in `slot` as if it had the losses of the one in slot `parent`."""
        self.losses[slot] = 0.0 if parent is None else self.losses[parent]
        self.scores[slot] = 0.0
        if self.odds is not None:
            self.odds.begin(slot, parent)

    def achieved(self, slot: int) -> float:
        """The model's squared loss so far, or for classes its errors."""
        return float((self.scores if self.odds is None else self.odds.errors)[slot])

    def until(self, labels: Floats, at: int) -> int:
        """How many of `labels`, which come after `at` others, go before `move` has to be asked."""
        n = len(labels)
        if not self.represents or n == 1:
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
        if not (self.represents and again):
            return
        spread = deviation(self.front.scale)
        if not spread:
            return
        place = np.array([self.front.scale[MEAN], spread])
        if self.place[1]:
            assert isinstance(self.models, KernelModels)  # others have no representations
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

    def notes(self) -> dict[str, float]:
        """How near the loss ever came to what the theorems allow.

        ``share_of_bound`` is the largest ratio of the loss to what the best baseline's and the
        constant allow, at most 1; for classes of squared loss. Theirs is ``nats_over_best`` too,
        the largest excess of the log loss over that of the best of what people try first,
        `regret_bound` at most. Of squared loss the first example, at which all forecast 0, is
        left out. For the rest see `Intervals.notes`.
        """
        told = {"share_of_bound": float(self.totals[SHARE_OF_BOUND])}
        if len(self.front.memory):
            told["selected_features"] = float((self.front.slots >= 0).sum())
        if self.odds is not None:
            told["nats_over_best"] = self.odds.over_best
        if self.intervals is not None:
            told |= self.intervals.notes(deviation(self.front.scale))
        return told

    def promised(self) -> float:
        """What `lost` may be by the theorem, in the labels' own unit."""
        best = float(self.scores[self.baselines].min() - self.totals[FIRST])
        return best + float(self.aggregated[ALLOWED])

    @property
    def lost(self) -> float:
        """What the forecasts have lost on all examples but the first."""
        return float(self.totals[LOST])

    def state(self) -> dict[str, Any]:
        """All but the models, as plain values."""
        intervals = None if self.intervals is None else self.intervals.state()
        odds = None if self.odds is None else self.odds.state()
        parts = {"front": self.front.state(), "intervals": intervals, "odds": odds}
        return values_of(self, self.kept) | parts

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if it is of other sizes."""
        fill(self, state, self.kept)
        self.front.fill(state["front"])
        if self.intervals is not None:
            self.intervals.fill(state["intervals"])
        if self.odds is not None:
            self.odds.fill(state["odds"])
