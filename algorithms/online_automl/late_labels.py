"""What predicts while labels are pending, of numbers and of classes, by its late errors.

While a race has such a thing, it is asked in place of the race where others wait for their labels,
by the estimators and on environments alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED
from leaseboard.algorithms.online_automl.safe.later import (
    BASELINES,
    N_BASELINES,
    N_PARTS,
    Parts,
    Waiting,
    caller,
)
from leaseboard.algorithms.online_automl.safe.log_odds import logit
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.algorithms.online_automl.safe.scale import MEAN, SHOWN, deviation
from leaseboard.algorithms.online_automl.safe.waited import (
    OWN,
    TRUSTED,
    Forecasts,
    Waited,
    Weighed,
)
from leaseboard.algorithms.transcendental import exp_all

EXPECTED = 0.1
"""Errors that are expected of each that predicts a class, before any is known."""

LATER, RIDGE_PART, STALE, LAST, COMMON = range(5)
"""What predicts a class: the race without past labels; logistic regressions on features; the race
by the last labels that are known; the last class; and the one that came most often."""

PLACES = np.array([*range(1 + COMMON), LATER, *[RIDGE_PART] * (TRUSTED - 1)])
"""They, as often as they count."""

MOST_PLACES = 16
"""How much more often the last class counts at most. Of a file that is sorted by class it is the
first to say the next class, long before the errors of the others are known."""


class LateNumbers(Waited):
    """Numbers whose labels come later.

    Attributes
    ----------
    ahead : Forecasts
        Of blocks of rows none of whose labels is known before all are predicted.
    share : float
        The largest share that was lost, at any time, of what the theorem of `Waited` allows: what
        the best baseline lost, and the constants of all copies.
    """

    kept: ClassVar[tuple[str, ...]] = (*Waited.kept, "ahead")

    def __init__(self, levels: Sequence[float]) -> None:
        super().__init__(levels)
        self.ahead = Forecasts()
        self._caller: tuple[Floats, Any, Callable[..., Parts]] | None = None
        self.best, self.lost, self.allowed, self.share = np.zeros(N_BASELINES), 0.0, 0.0, 0.0

    def nothing(self, race: Any = None) -> Doubles:
        """See `Waited.nothing`."""
        del race
        return super().nothing()

    def weighs(self, race: Any, n_pending: int) -> bool:
        """Return whether it predicts in place of the race, before which so many wait."""
        del n_pending
        return race is not None and race.at > 0

    def parts_of(self, race: SafeRace, row: Floats) -> Callable[..., Parts]:
        """Return what gives the parts of a prediction of the example in `row`."""
        made = self._caller
        if made is None or made[0] is not row or made[1] is not race.schema:
            made = self._caller = row, race.schema, caller(race, row)
        return made[2]

    def ask(self, race: SafeRace, row: Floats, waiting: Waiting) -> tuple[float, Doubles]:
        """Return a prediction of the example in `row`, and what `answer` needs of it."""
        entity = race.head.entity(row)
        parts = self.parts_of(race, row)(waiting[-1], waiting[entity])
        prediction, kept = self.predict(parts)
        kept[-1] = entity
        return prediction, kept

    def answer(
        self, race: SafeRace, label: float, prediction: float, kept: Doubles, delay: int
    ) -> None:
        """Learn the label of a prediction, since which `delay` others were made."""
        copy = int(kept[N_PARTS + OWN - 1])
        if copy < 0:
            return
        state = self.copies[copy]
        self.allowed -= float(state[ALLOWED])
        shown = float(race.ensemble.expansion.scale[SHOWN])
        self.update(label, shown, prediction, kept, delay)
        self.allowed += float(state[ALLOWED])
        self.lost += (float(np.float32(prediction)) - label) ** 2
        self.best += (kept[[*BASELINES]] - label) ** 2
        if self.lost:
            self.share = max(self.share, self.lost / (float(self.best.min()) + self.allowed))

    def notes(self, race: SafeRace) -> dict[str, float]:
        """Return metrics of intervals and of the bound."""
        width = deviation(race.ensemble.expansion.scale)
        return {**self.intervals.notes(width), "share_of_bound": self.share}


class LateClasses(Weighed):
    """Mean of what predicts a class while labels are pending, by the errors of each.

    As for numbers (`leaseboard.algorithms.online_automl.safe.waited`), each is judged by what it
    said while labels were pending, and n predictions that wait together count as few. No theorem
    bounds the errors.
    """

    def __init__(self) -> None:
        super().__init__(PLACES)

    def weighs(self, race: Any, n_pending: int) -> bool:
        """Return whether it predicts in place of the race, before which so many wait."""
        return (
            race is not None
            and bool(n_pending and race.at)
            and (getattr(race, "n_classes", 2) >= 2)
        )

    def ask(self, race: Any, row: Floats, waiting: Waiting) -> tuple[Any, Doubles]:
        """Return a prediction of the example in `row`, and what `answer` needs of it.

        Parameters
        ----------
        race : OneVsRest, or SafeRace of two classes
            At least two came. The prediction has its form: probabilities, or log odds.
        row : ndarray of float32, shape (n_features,)
        waiting : Waiting
        """
        races: list[Any] = race.races if isinstance(race, OneVsRest) else [race]
        later, ridge, stale = np.array([each.late_margins(row) for each in races]).T.copy()
        if isinstance(race, OneVsRest):
            last, counts = race.mixture.last, np.asarray(race.mixture.counts[0])
            first = race.of_margins(later, row, later=True)
            third = race.of_margins(stale, row)
            second = race.of_margins(ridge)
        else:
            scale = race.ensemble.expansion.scale
            last, mean = int(scale[SHOWN] > 0.0), float(scale[MEAN])
            counts = np.array([1.0 - mean, 1.0 + mean])
            odds = 1.0 / (1.0 + exp_all(np.clip([-later, -ridge, -stale], -500.0, 500.0)))
            first, second, third = np.column_stack((1.0 - odds, odds))
        wrong = (self.losses[LAST] + 1.0) / (self.mass[0] + 2.0)
        odds_of_last = (1.0 - wrong) / wrong
        more = min(MOST_PLACES, max(0.0, odds_of_last - 1.0) ** 2)
        self.places = np.append(PLACES, np.full(int(more), LAST))
        fourth = np.full(len(counts), wrong / max(1, len(counts) - 1))
        fourth[last] = 1.0 - wrong
        said = np.array([first, second, third, fourth, counts / max(counts.sum(), 1.0)])
        lost = np.full(len(said), EXPECTED)
        shares = np.array([self.mean(each, lost, waiting[-1]) for each in said.T.copy()])
        votes = np.append(said.argmax(axis=1), 0.0)
        votes[LAST] = last  # also where another class is more probable
        return (logit(shares[1] - shares[0]) if isinstance(race, SafeRace) else shares), votes

    def nothing(self, race: Any = None) -> Doubles:
        """Return what `answer` needs of a prediction by others; all say the only class."""
        alone = race is not None and race.at > 0 and getattr(race, "n_classes", 2) == 1
        return np.append(np.full(1 + COMMON, 0.0 if alone else -1.0), 0.0)

    def answer(self, race: Any, label: float, prediction: Any, kept: Doubles, delay: int) -> None:
        """Learn the class of a prediction: its number, or of two the sign of `label`."""
        del prediction, delay
        if kept[0] >= 0.0:
            self.learn(kept[:-1] != (label > 0.0 if isinstance(race, SafeRace) else label), 0.0)

    def forget(self, kept: Doubles) -> None:
        """Let a prediction go whose label never comes."""

    def notes(self, race: Any) -> dict[str, float]:
        """Return no metrics."""
        del race
        return {}
