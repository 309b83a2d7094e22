"""The prediction of live models and their simple models, with all that they are weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats, Slots
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online_automl.members.class_pool import ClassPool
from leaseboard.algorithms.online_automl.members.number_pool import NumberPool
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED
from leaseboard.algorithms.online_automl.safe.expansion import (
    LAST,
    MEAN_SO_FAR,
    N_SIMPLE,
    NARROW,
    RIDGE,
    RIDGE_ON_PAST,
    SEASON,
    FeatureExpansion,
)
from leaseboard.algorithms.online_automl.safe.log_odds import EXCESS, LogOdds
from leaseboard.algorithms.online_automl.safe.mixture import FIRST, LOST, SHARE_OF_BOUND, Mixture
from leaseboard.algorithms.online_automl.safe.passes import Passes
from leaseboard.algorithms.online_automl.safe.scale import MEAN, STABLE_FROM, deviation
from leaseboard.algorithms.plain import Saved

BASELINES = (MEAN_SO_FAR, LAST, SEASON, RIDGE)
"""The simple models that, with the model in slot 0, the prediction stays near the best of; of more
than `NARROW` features the regression on selected ones too."""


class Ensemble(Passes, Saved):
    """Predictor of the models in `b` slots and the simple models together.

    Parameters
    ----------
    models : KernelModels
    n_features : int
    b : int
        Slots for models; the initial configuration is in slot 0.
    gamma : float
        See `leaseboard.algorithms.online_automl.safe.mixture.mix`.
    classes : bool
        The labels are -1 and 1, and what is predicted are log odds of the second class.
    levels : sequence of float
        Of the prediction intervals, which classes do not have.
    seed : int
        Of what members draw.

    Attributes
    ----------
    known : Mixture
    pool : NumberPool or ClassPool or None
        The nonlinear members next to all this, which races of many classes have in common.
    """

    kept: ClassVar[tuple[str, ...]] = ("known", "expansion", "intervals", "log_odds", "pool")

    def __init__(
        self,
        models: KernelModels,
        n_features: int,
        b: int,
        *,
        gamma: float,
        classes: bool,
        levels: Sequence[float] = (),
        seed: int = 0,
    ) -> None:
        super().__init__(models, classes, None if classes else Intervals(levels))
        self.b, self.gamma = b, gamma
        self.expansion = FeatureExpansion(n_features, classes)
        self.log_odds = LogOdds(b) if classes else None
        self.baselines = self._protected(n_features)
        self.known = Mixture(b, b + N_SIMPLE, self.baselines, gamma)
        self.pool = (
            ClassPool(n_features, 2, seed) if classes else NumberPool(n_features, gamma, seed)
        )

    def _protected(self, n_features: int) -> Slots:
        more = (RIDGE_ON_PAST,) if n_features > NARROW else ()
        return np.array([0, *(self.b + k for k in (*BASELINES, *more))])

    def share(self, n_features: int, shares: int) -> None:
        """Share memory for examples with others, so many in all, before anything is learned."""
        self.expansion = FeatureExpansion(n_features, self.classes, shares)

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        self.expansion.grow(n_features)
        if self.pool is not None:
            self.pool.grow(n_features, self.pool.n_classes)
        protected = self._protected(n_features)
        if len(protected) > len(self.baselines):
            self.known.join(protected[-1])
        self.baselines = protected

    def begin(self, slot: int, parent: int | None, *, untrained: bool) -> None:
        """Weigh the new model in `slot` as if it had the losses of the one in slot `parent`.

        If it is `untrained`, it has no weight on its first example: its prediction is the mean of
        the labels, which the losses of a trained model say nothing about.
        """
        self.known.untrained[slot] = untrained
        self.known.losses[slot] = 0.0 if parent is None else self.known.losses[parent]
        self.known.scores[slot] = 0.0
        if self.log_odds is not None:
            self.log_odds.begin(slot, parent)

    @property
    def achieved(self) -> Doubles:
        """Each model's squared loss so far, or for classes its errors."""
        return self.known.scores if self.log_odds is None else self.log_odds.errors

    def until(self, labels: Floats, at: int) -> int:
        """Return how many of `labels`, which come after `at` others, go before `move` is due."""
        n = len(labels)
        if n == 1:
            return n
        if self.known.place[1]:
            return min(n, self.steady(at))
        n = min(n, (1 << at.bit_length()) - at)  # or until two labels differ
        other = np.flatnonzero(labels[:n] != self.expansion.scale[MEAN])
        return min(n, 1 + int(other[0])) if len(other) else n

    def steady(self, at: int) -> int:
        """Return how many examples, after `at` others, certainly come before `move` is due."""
        return (1 << at.bit_length()) - at if self.known.place[1] else 1

    def move(self, at: int) -> None:
        """Standardise the models' labels again, after 4, 8, 16, ... examples.

        What they have learned is expressed in the new unit, so no prediction changes.
        """
        if (at & (at - 1) and self.known.place[1]) or at < STABLE_FROM:
            return
        spread = deviation(self.expansion.scale)
        if not spread:
            return
        place = np.array([self.expansion.scale[MEAN], spread])
        if self.known.place[1]:
            center, old = self.known.place
            self.models.rescale(self.live, old / spread, (center - place[0]) / spread)
        self.known.place[:] = place

    def notes(self) -> dict[str, float]:
        """Return how near the loss ever came to what the theorems allow.

        ``share_of_bound`` is the largest ratio of the loss to what the best baseline's and the
        constant allow, at most 1; for classes of squared loss. Theirs is ``nats_over_best`` too,
        the largest excess of the log loss over that of the best naive baseline, `regret_bound` at
        most. Of squared loss the first example, at which all predict 0, is
        left out. For the rest see `Intervals.notes`.
        """
        found = {"share_of_bound": float(self.known.totals[SHARE_OF_BOUND])}
        if len(self.expansion.memory):
            found["selected_features"] = float((self.expansion.slots >= 0).sum())
        if self.log_odds is not None:
            found["nats_over_best"] = float(self.log_odds.lost[EXCESS])
        if self.intervals is not None:
            found |= self.intervals.notes(deviation(self.expansion.scale))
        return found if self.pool is None else found | self.pool.notes()

    def guaranteed(self) -> float:
        """Return what `lost` may be by the theorem, in the labels' own unit."""
        best = float(self.known.scores[self.baselines].min() - self.known.totals[FIRST])
        allowed = best + float(self.known.aggregated[ALLOWED])
        return self.pool.guaranteed(allowed) if isinstance(self.pool, NumberPool) else allowed

    @property
    def lost(self) -> float:
        """Loss of the predictions on all examples but the first."""
        known = self.pool.known if isinstance(self.pool, NumberPool) else self.known
        return float(known.totals[LOST])
