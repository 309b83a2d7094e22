"""Predictions whose labels come later: weights by real losses, a guarantee, and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Slots
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online_automl.safe.aggregate import (
    FIELDS,
    LARGEST,
    aggregate,
    new_aggregate,
    weigh,
)
from leaseboard.algorithms.online_automl.safe.later import (
    BASELINES,
    MEAN_PART,
    N_BASELINES,
    N_PARTS,
    RIDGE_PART,
    Parts,
)
from leaseboard.algorithms.online_automl.safe.mixture import learning_rate, posterior_mean
from leaseboard.algorithms.plain import Saved

OWN = 4
"""What `Waited` keeps next to the parts: their mean, the range of labels, and a copy."""

PRIOR = 20.0
"""Answers as which the losses count that parts would have had."""

TRUSTED, ALIKE = 4, 0.85
"""See `Weighed`."""

PLACES = np.array([*range(N_PARTS), *[MEAN_PART, RIDGE_PART] * (TRUSTED - 1)])
"""The parts, as often as they count."""

MEMORY = 1000.0
"""Answers after which a loss counts 1/e."""

SCORES = 1000
"""Errors that intervals of forecasts are made of."""


class Weighed(Saved):
    """Posterior mean of parts by what each has lost in predictions whose labels came later.

    They are weighed as models are in `leaseboard.algorithms.online_automl.safe.mixture`, mean and
    ridge regression `TRUSTED` times; what they would have lost counts as `PRIOR` answers. Of
    predictions that wait together the errors are alike, so that n of them say less than n errors
    that were known one after the other, and little more than one: as many as ``n**(1 - ALIKE)``.

    Attributes
    ----------
    losses : ndarray of float64, shape (n_parts,)
        Discounted squared losses.
    mass : ndarray of float64, shape (1,)
        Their number, discounted alike.
    """

    kept: ClassVar[tuple[str, ...]] = ("losses", "mass")

    def __init__(self, places: Slots = PLACES) -> None:
        self.places, self.losses, self.mass = places, np.zeros(1 + places.max()), np.zeros(1)

    def mean(self, said: Doubles, lost: Doubles, waiting: int = 0) -> float:
        """Return the posterior mean of the parts of a prediction, before which so many wait."""
        losses, mass = PRIOR * lost + self.losses, PRIOR + float(self.mass[0])
        eta = learning_rate(self.places, losses, mass / (1.0 + waiting) ** ALIKE)
        return float(posterior_mean(said, self.places, losses, eta))

    def learn(self, said: Doubles, label: float) -> None:
        """Take what the parts of a prediction have lost."""
        kept = 1.0 - 1.0 / MEMORY
        self.losses[:] = kept * self.losses + (said - label) ** 2
        self.mass[:] = kept * self.mass + 1.0


class Forecasts(Weighed):
    """Predictions of rows none of whose labels is known before all are predicted.

    Intervals hold what the given share of the last `SCORES` errors held that were measured so,
    each in units of the recent errors of its entity (split conformal prediction): as many of
    the next labels, if these follow on the last ones as those did on the ones before.

    Attributes
    ----------
    scores : ndarray of float64
        These errors, the latest last.
    """

    kept: ClassVar[tuple[str, ...]] = (*Weighed.kept, "scores")

    def __init__(self) -> None:
        super().__init__()
        self.scores = np.full(SCORES, math.nan)

    def measure(self, prediction: float, label: float, spread: float) -> None:
        """Learn how far off a prediction was, in units of the recent errors of its entity."""
        self.scores = np.append(self.scores[1:], abs(label - prediction) / spread)

    def half(self, level: float, spread: float) -> float:
        """Return half the width of an interval; infinite while there are too few errors."""
        known = np.sort(self.scores[~np.isnan(self.scores)])
        rank = math.ceil(level * (len(known) + 1))
        return float(known[rank - 1]) * spread if 0 < rank <= len(known) else math.inf


class Waited(Weighed):
    """State of predictions that waited for their labels.

    The posterior mean of the parts, next to the naive baselines, is an
    expert of the aggregate (`leaseboard.algorithms.online_automl.safe.aggregate`), of which there
    are as many copies as predictions wait at a time: each prediction takes one that no other waits
    for [1]_.

    **Theorem.** For every sequence of labels, in whatever order they come, the squared loss of all
    predictions that were answered is at most that of the best baseline, plus for each copy the
    constant of the aggregate with `N_BASELINES` + 1 experts. There are at most D + 1 copies, where
    D predictions wait at most when one is made.

    *Proof.* A copy predicts a part of the sequence, and knows each label of this part before it
    predicts the next. So its theorem holds, and the losses of the copies sum. A copy is made only
    where all others wait. ∎

    With labels that come before the next prediction there is one copy, and the theorem is the
    first one.

    References
    ----------
    .. [1] Joulani, Gyorgy, Szepesvari. Online learning under delayed feedback. ICML 2013.

    Parameters
    ----------
    levels : sequence of float
        Of intervals.
    """

    kept: ClassVar[tuple[str, ...]] = (*Weighed.kept, "intervals")

    def __init__(self, levels: Sequence[float]) -> None:
        super().__init__()
        self.intervals = Intervals(levels, later=True)
        self.copies = [new_aggregate(1 + N_BASELINES)]
        self.free = [0]

    def nothing(self) -> Doubles:
        """Return what is kept of a prediction before the first example, which had no parts."""
        own = np.zeros(N_PARTS + OWN)
        own[-1] = -1.0
        return np.concatenate((own, self.intervals.ask(0.0), [0.0]))

    def predict(self, parts: Parts) -> tuple[float, Doubles]:
        """Return the prediction by its parts, and what `update` needs of it.

        The last value is the caller's own: the entity.
        """
        waiting = len(self.copies) - len(self.free)
        if not self.free:
            self.free.append(len(self.copies))
            self.copies.append(new_aggregate(1 + N_BASELINES))
        copy, mean = self.free.pop(), self.mean(parts.said, parts.lost, waiting)
        experts = np.array([mean, *parts.said[[*BASELINES]]])
        prediction = aggregate(experts, self.copies[copy])
        own, asked = np.array([mean, *parts.limits, copy]), self.intervals.ask(prediction)
        return prediction, np.concatenate((parts.said, own, asked, [0.0]))

    def around(self, prediction: float, level: float, values: Doubles) -> tuple[float, float]:
        """Return the interval that a prediction was given.

        Parameters
        ----------
        prediction, level : float
        values : ndarray of float64
            What `predict` returned with it.
        """
        return self.intervals.around(prediction, level, values[N_PARTS + OWN : -1])

    def update(
        self, label: float, shown: float, prediction: float, values: Doubles, delay: int
    ) -> None:
        """Learn the label of a prediction.

        Parameters
        ----------
        label, shown : float
            Raw, and as learners see it.
        prediction : float
        values : ndarray of float64
            What `Waited.predict` returned with it.
        delay : int
            Predictions that were made since.
        """
        said, (mean, low, high, copy) = values[:N_PARTS], values[N_PARTS : N_PARTS + OWN].tolist()
        if copy < 0:
            return
        experts = np.array([mean, *said[[*BASELINES]]])
        weigh(experts, label, min(max(shown, low), high), high - low, self.copies[int(copy)])
        self.free.append(int(copy))
        self.learn(said, shown)
        self.intervals.update(label, prediction, values[N_PARTS + OWN : -1], delay)

    def forget(self, values: Doubles) -> None:
        """Let a prediction go whose label never comes."""
        if values[N_PARTS + OWN - 1] >= 0:
            self.free.append(int(values[N_PARTS + OWN - 1]))
        if len(self.free) == len(self.copies):  # of those that learned nothing one is enough
            learned = [each for each in self.copies if each[LARGEST] > 0.0]
            self.copies = learned or self.copies[:1]
            self.free = [*range(len(self.copies))]

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return super().state() | {"copies": np.array(self.copies), "free": self.free}

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        self.copies, self.free = [*state["copies"].copy()], [*map(int, state["free"])]
        if not all(each.shape == (FIELDS + 1 + N_BASELINES,) for each in self.copies):
            raise ValueError("copies of an aggregate of another size")
