"""The forecast of live models and their companions, with all that they are weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leaseboard.algorithms.chacha.safe.aggregate import ALLOWED, join, new_aggregate
from leaseboard.algorithms.chacha.safe.front import (
    LAST,
    MEAN_SO_FAR,
    N_COMPANIONS,
    NARROW,
    RIDGE,
    RIDGE_ON_PAST,
    SEASON,
    Block,
    Front,
    new_block,
)
from leaseboard.algorithms.chacha.safe.mixture import (
    FIRST,
    LOST,
    N_TOTALS,
    SHARE_OF_BOUND,
    Mixture,
    learning_rate,
    mix,
    posterior_mean,
    targets_of,
)
from leaseboard.algorithms.chacha.safe.odds import Odds, tell_odds
from leaseboard.algorithms.chacha.safe.scale import MEAN, SETTLED, deviation
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online.live import KernelModels, LiveModels
from leaseboard.algorithms.plain import fill, fill_array

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
    known : Mixture
    """

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
        self.front, self.odds = Front(n_features, classes), Odds.new(b) if classes else None
        n = b + N_COMPANIONS
        self.baselines = self._protected(n_features)
        self.known = Mixture(
            losses=np.zeros(n),
            totals=np.zeros(N_TOTALS),
            scores=np.zeros(n),
            sums=np.zeros((n, 4)),
            aggregated=new_aggregate(1 + len(self.baselines)),
            place=np.array([0.0, 0.0 if represents else 1.0]),
        )
        self.intervals = None if classes else Intervals(levels)

    def _protected(self, n_features: int) -> Slots:
        more = (RIDGE_ON_PAST,) if n_features > NARROW else ()
        return np.array([0, *(self.b + k for k in (*BASELINES, *more))])

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        self.front.grow(n_features)
        protected = self._protected(n_features)
        if len(protected) > len(self.baselines):
            self.known = self.known._replace(aggregated=join(self.known.aggregated))
            # What it lost before it joined is what the forecast has lost.
            self.known.scores[protected[-1]] = self.lost + self.known.totals[FIRST]
        self.baselines = protected

    def predict(self, example: Floats, live: Slots, champion: int) -> float:
        """Return the forecast for one example; nothing is learned."""
        return self._look(example, live, champion)[0]

    def parts(self, example: Floats, live: Slots, champion: int) -> Doubles:
        """Return the forecast, that of the model in slot 0, and those of the companions."""
        forecast, row = self._look(example, live, champion)
        return np.concatenate(([forecast, row[0]], row[self.b :]))

    def _look(self, example: Floats, live: Slots, champion: int) -> tuple[float, Doubles]:
        """The forecast, and what the models and the companions forecast, shape (n_slots,)."""
        block = self.front.look(example, self.b + N_COMPANIONS)
        seen = block.wide if self.represents else block.examples
        predictions, forecasts = np.zeros((1, self.b), np.float32), np.empty(1, np.float32)
        self.models.predict(seen[0], live, predictions[0])
        self._mix(predictions, block, live, champion, False, forecasts)
        return float(forecasts[0]), block.values[0]

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
        # Companions first: what models see of an example is made next to their forecasts.
        block = new_block(examples, labels, importances, self.b + N_COMPANIONS)
        self.front.learn(block)
        predictions = np.zeros((len(labels), self.b), dtype=np.float32)
        if self.known.place[1]:
            seen = block.wide if self.represents else block.examples
            targets = targets_of(block.shown, self.known.place)
            self.models.learn(seen, targets, block.importances, live, predictions)
        self._mix(predictions, block, live, champion, True, forecasts)
        if self.intervals is not None:
            self.intervals.learn(block.labels, block.importances, forecasts)

    def _mix(
        self,
        predictions: Floats,
        block: Block,
        live: Slots,
        champion: int,
        learns: bool,
        forecasts: Floats,
    ) -> None:
        """Write the forecasts of a block by what models predict, and learn by its labels."""
        how = self.baselines, champion, self.gamma, self.known, learns
        mix(predictions, block, live, *how, forecasts)
        if self.odds is not None:
            tell_odds(block, live, champion, self.odds, learns, forecasts)

    def begin(self, slot: int, parent: int | None) -> None:
        """Weigh the new model in `slot` as if it had the losses of the one in slot `parent`."""
        self.known.losses[slot] = 0.0 if parent is None else self.known.losses[parent]
        self.known.scores[slot] = 0.0
        if self.odds is not None:
            self.odds.begin(slot, parent)

    def achieved(self, slot: int) -> float:
        """Return the model's squared loss so far, or for classes its errors."""
        return float((self.known.scores if self.odds is None else self.odds.errors)[slot])

    def until(self, labels: Floats, at: int) -> int:
        """How many of `labels`, which come after `at` others, go before `move` has to be asked."""
        n = len(labels)
        if not self.represents or n == 1:
            return n
        n = min(n, (1 << at.bit_length()) - at)
        if not self.known.place[1]:  # until two labels differ
            other = np.flatnonzero(labels[:n] != self.front.scale[MEAN])
            n = min(n, 1 + int(other[0])) if len(other) else n
        return n

    def move(self, at: int, live: Slots) -> None:
        """Let models learn labels that are standardised anew, after 4, 8, 16, ... examples.

        What they have learned is expressed in the new unit, so no prediction changes.
        """
        again = at >= SETTLED and (at & (at - 1) == 0 or not self.known.place[1])
        if not (self.represents and again):
            return
        spread = deviation(self.front.scale)
        if not spread:
            return
        place = np.array([self.front.scale[MEAN], spread])
        if self.known.place[1]:
            assert isinstance(self.models, KernelModels)  # others have no representations
            center, old = self.known.place
            self.models.rescale(live, old / spread, (center - place[0]) / spread)
        self.known.place[:] = place

    @property
    def unit(self) -> tuple[float, float]:
        """What a model's forecasts are multiplied by, last, and what is added: (center, spread).

        While all labels are equal no model has learned one, and the mean is the forecast.
        """
        center, spread = self.known.place.tolist()
        return (center, spread) if spread else (float(self.front.scale[MEAN]), 0.0)

    def notes(self) -> dict[str, float]:
        """Return how near the loss ever came to what the theorems allow.

        ``share_of_bound`` is the largest ratio of the loss to what the best baseline's and the
        constant allow, at most 1; for classes of squared loss. Theirs is ``nats_over_best`` too,
        the largest excess of the log loss over that of the best of what people try first,
        `regret_bound` at most. Of squared loss the first example, at which all forecast 0, is
        left out. For the rest see `Intervals.notes`.
        """
        told = {"share_of_bound": float(self.known.totals[SHARE_OF_BOUND])}
        if len(self.front.known.memory):
            told["selected_features"] = float((self.front.known.slots >= 0).sum())
        if self.odds is not None:
            told["nats_over_best"] = self.odds.over_best
        if self.intervals is not None:
            told |= self.intervals.notes(deviation(self.front.scale))
        return told

    def promised(self) -> float:
        """Return what `lost` may be by the theorem, in the labels' own unit."""
        best = float(self.known.scores[self.baselines].min() - self.known.totals[FIRST])
        return best + float(self.known.aggregated[ALLOWED])

    @property
    def lost(self) -> float:
        """What the forecasts have lost on all examples but the first."""
        return float(self.known.totals[LOST])

    def state(self) -> dict[str, Any]:
        """Return all but the models, as plain values."""
        intervals = None if self.intervals is None else self.intervals.state()
        odds = None if self.odds is None else self.odds._asdict()
        parts = {"front": self.front.state(), "intervals": intervals, "odds": odds}
        return self.known._asdict() | parts

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if it is of other sizes."""
        fill(self.known, state, Mixture._fields)
        self.front.fill(state["front"])
        if self.intervals is not None:
            self.intervals.fill(state["intervals"])
        if self.odds is not None:
            fill(self.odds, state["odds"], Odds._fields)


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
        """Return the forecast by its parts, and what `settle` needs of it, shape (n_said,)."""
        forecast = float(parts[0])
        if self.mass[0]:
            places = np.arange(N_PARTS)
            eta = learning_rate(places, self.losses, self.mass[0])
            forecast = float(posterior_mean(parts, places, self.losses, eta))
        return forecast, np.concatenate((parts, self.intervals.ask(forecast)))

    def around(self, forecast: float, level: float, said: Doubles) -> tuple[float, float]:
        """Return the interval that a forecast was given."""
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
        """Return all that was learned, as plain values."""
        state = self.intervals.state()
        return {"intervals": state, "losses": self.losses, "mass": self.mass}

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if nothing that waited has it."""
        self.intervals.fill(state["intervals"])
        fill_array(self.losses, state["losses"])
        fill_array(self.mass, state["mass"])
        if not (np.isfinite(self.losses).all() and 0 <= self.mass[0] <= MEMORY):
            raise ValueError("losses must be finite, and their mass from 0 to 1,000")
