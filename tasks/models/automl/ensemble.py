"""Greedy ensemble selection, and the model that comes of it.

Rich Caruana, Alexandru Niculescu-Mizil, Geoff Crew, Alex Ksikes. "EnsembleModel Selection from
Libraries of Models". ICML 2004.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.evaluate.trials.evaluate import forecast
from tasks.evaluate.trials.scoring import Judge

Floats = NDArray[Any]

ROUNDS = 25
CANDIDATES = 5
"""The best trials of each arm, which selection considers."""


def selected(
    forecasts: Sequence[Floats],
    judge: Judge,
    *,
    rounds: int = ROUNDS,
    left: Callable[[], float] = lambda: math.inf,
) -> tuple[list[int], float]:
    """The members, as often as each was chosen, and the score of their mean forecast.

    One after the other the forecast that improves the mean most is added, with replacement;
    among equals the one whose mean is nearest to the targets. The answer is the best prefix.

    Parameters
    ----------
    forecasts : sequence of ndarray, shape (n_rows, n_classes) or (n_rows,)
        Of each candidate on the rows of the judge, the best first.
    judge : Judge
    rounds : int
    left : callable
        The seconds that are left: a round that they do not suffice for is not part of the answer,
        but for the first, which then ends with who was looked at.

    Returns
    -------
    members : list of int
    score : float

    Examples
    --------
    Two regressions that err in opposite directions are better together:

    >>> judge = Judge("r2", np.array([1.0, 2.0, 3.0]))
    >>> selected([np.array([1.1, 2.1, 3.1]), np.array([0.9, 1.9, 2.9])], judge, rounds=3)[0]
    [0, 1]
    """
    total: Floats = np.zeros_like(forecasts[0], dtype=np.float64)
    chosen: list[int] = []
    best: list[int] = []
    best_value = (-np.inf, -np.inf)
    for turn in range(1, rounds + 1):
        values: list[tuple[float, float]] = []
        for each in forecasts:
            if (best or values) and left() <= 0:
                break
            values.append(_value((total + each) / turn, judge))
        if best and len(values) < len(forecasts):
            break
        winner = max(range(len(values)), key=lambda index: values[index])
        total += forecasts[winner]
        chosen.append(winner)
        if values[winner] > best_value:
            best_value, best = values[winner], list(chosen)
    return best, best_value[0]


def _value(mean: Floats, judge: Judge) -> tuple[float, float]:
    """By what means are compared; what rounding changes is no difference."""
    return round(judge.score(mean), 12), -round(distance(mean, judge), 12)


def distance(forecasts: Floats, judge: Judge) -> float:
    """Mean squared distance of forecasts from the targets, of probabilities from certainty."""
    if judge.classes is None:
        return float(np.mean((forecasts - judge.targets) ** 2))
    certain = judge.targets[:, None] == judge.classes
    return float(np.mean((forecasts - certain) ** 2))


@dataclass
class EnsembleMember:
    """One configuration's models: of every fold, or one that was fitted on all rows."""

    arm: str
    weight: float
    models: list[Any]


@dataclass
class EnsembleModel:
    """The mean of its members' forecasts; a member's is the mean of its models'.

    `n_classes`: 0 for a regression.
    """

    members: list[EnsembleMember] = field(default_factory=list)
    n_classes: int = 0

    def forecast(self, features: NDArray[np.float32]) -> Floats:
        """Probabilities, shape (n_rows, n_classes), or values, shape (n_rows,)."""
        total: Any = 0.0
        for member in self.members:
            share = member.weight / len(member.models)
            for model in member.models:
                total = total + share * forecast(model, features, self.n_classes)
        return np.asarray(total, dtype=np.float64)
