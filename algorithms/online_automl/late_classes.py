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


class LateClasses(Weighed):
    """Mean of what predicts a class while labels are pending, by the errors of each.

    As for numbers (`leaseboard.algorithms.online_automl.safe.waited`), each is judged by what it
    said while labels were pending, and n predictions that wait together count as few. No theorem
    bounds the errors.
    """

    def __init__(self) -> None:
        super().__init__(np.array([*range(1 + COMMON), LATER, *[RIDGE_PART] * (TRUSTED - 1)]))

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
        fourth = np.full(len(counts), wrong / max(1, len(counts) - 1))
        fourth[last] = 1.0 - wrong
        said = np.array([first, second, third, fourth, counts / max(counts.sum(), 1.0)])
        lost = np.full(len(said), EXPECTED)
        shares = np.array([self.mean(each, lost, waiting) for each in said.T.copy()])
        return shares, np.append(said.argmax(axis=1), 0.0)

    def nothing(self) -> Doubles:
        """Return what `answer` needs of a prediction that was made otherwise."""
        return np.append(np.full(1 + COMMON, -1.0), 0.0)

    def answer(self, kept: Doubles, number: float) -> None:
        """Learn the class of a prediction."""
        if kept[0] >= 0.0:
            self.learn(kept[:-1] != number, 0.0)
