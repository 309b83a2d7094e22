"""Classes of examples whose last labels are not known: what predicts them, by its late errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.safe.scale import MEAN, SHOWN
from leaseboard.algorithms.online_automl.safe.waited import TRUSTED, Weighed
from leaseboard.algorithms.transcendental import exp_all

EXPECTED = 0.1
"""Errors that are expected of each, before any is known."""

LATER, RIDGE_PART, STALE, LAST, COMMON = range(5)
"""What predicts: the race without past labels; logistic regressions on features; the race by the
last labels that are known; the last class; and the one that came most often."""

PLACES = np.array([*range(1 + COMMON), LATER, *[RIDGE_PART] * (TRUSTED - 1)])
"""They, as often as they count."""

MOST_PLACES = 16
"""How much more often the last class counts at most. Of a file that is sorted by class it is the
first to say the next class, long before the errors of the others are known."""


class LateClasses(Weighed):
    """Mean of what predicts a class while labels are pending, by the errors of each.

    As for numbers (`leaseboard.algorithms.online_automl.safe.waited`), each is judged by what it
    said while labels were pending, and n predictions that wait together count as few. No theorem
    bounds the errors.
    """

    def __init__(self) -> None:
        super().__init__(PLACES)

    def predict(self, race: Any, example: Floats, waiting: int) -> tuple[Doubles, Doubles]:
        """Return probabilities of the classes, and what `answer` needs of them.

        Parameters
        ----------
        race : OneVsRest, or SafeRace of two classes
            At least two came.
        example : ndarray of float32, shape (n_features,)
        waiting : int
            Predictions that wait.
        """
        races: list[Any] = race.races if isinstance(race, OneVsRest) else [race]
        later, ridge, stale = np.array([each.late_margins(example) for each in races]).T
        if isinstance(race, OneVsRest):
            last, counts = race.mixture.last, np.asarray(race.mixture.counts[0])
            first = race.of_margins(later, example, later=True)
            third = race.of_margins(stale, example)
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
        shares = np.array([self.mean(each, lost, waiting) for each in said.T.copy()])
        votes = np.append(said.argmax(axis=1), 0.0)
        votes[LAST] = last  # also where another class is more probable
        return shares, votes

    def nothing(self, n_classes: int) -> Doubles:
        """Return what `answer` needs of a prediction by others; all say the only class."""
        return np.append(np.full(1 + COMMON, 0.0 if n_classes == 1 else -1.0), 0.0)

    def answer(self, kept: Doubles, number: float) -> None:
        """Learn the class of a prediction."""
        if kept[0] >= 0.0:
            self.learn(kept[:-1] != number, 0.0)
