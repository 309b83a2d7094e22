"""Greedy ensemble selection, and the model that comes of it.

Rich Caruana, Alexandru Niculescu-Mizil, Geoff Crew, Alex Ksikes. "Ensemble Selection from
Libraries of Models". ICML 2004.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.tasks.evaluate.trials.evaluate import predict
from leaseboard.tasks.evaluate.trials.scoring import FASTEST, Judge

Floats = NDArray[Any]

ROUNDS = 25
"""Members at most, with repetitions."""
CANDIDATES = 5
"""The best trials of each arm, which selection considers."""


def selected(
    predictions: Sequence[Floats],
    judge: Judge,
    *,
    rounds: int = ROUNDS,
    left: Callable[[], float] = lambda: math.inf,
) -> tuple[list[int], float]:
    """Return the members, as often as each was chosen, and the score of their mean prediction.

    One after the other the prediction is added, with replacement, with which the mean is nearest
    to the targets: from nothing, and from the best prediction on. The answer is the prefix of
    either with the best score, and among equals the nearest. If the score chose who is added, too,
    the luckiest of many would be, where a squared distance, which is proper, shows sooner what is
    better; R² is such a distance.

    Parameters
    ----------
    predictions : sequence of ndarray, shape (n_rows, n_classes) or (n_rows,)
        Of each candidate on the rows of the judge, the best first.
    judge : Judge
    rounds : int
    left : callable
        The seconds that are left: who cannot be looked at within them is not chosen, nor is a
        prefix, but for the first.

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
    errors: list[Floats] = []
    products: Floats = np.zeros((len(predictions), len(predictions)))
    for place, each in enumerate(predictions):
        if errors and left() <= 0:
            break
        errors.append(_errors(each, judge))
        products[place, : place + 1] = [np.vdot(errors[place], other) for other in errors]
        products[: place + 1, place] = products[place, : place + 1]
    products = products[: len(errors), : len(errors)] / (products[0, 0] or 1.0)
    path, distances = _path(products, rounds)
    best: list[int] = []
    if judge.scoring == FASTEST["regression"]:
        best = path[: int(np.argmin(distances)) + 1]
    else:
        best_value = (-math.inf, -math.inf)
        for members, far in ((path, distances), _path(products, rounds, 0)):
            total: Floats = np.zeros_like(predictions[0], dtype=np.float64)
            for size, member in enumerate(members, 1):
                if best and left() <= 0:
                    break
                total += predictions[member]
                value = (round(judge.score(total / size), 12), -far[size - 1])
                if value > best_value:
                    best, best_value = members[:size], value
    return best, judge.score(sum(predictions[member] for member in best) / len(best))


def _path(
    products: Floats, rounds: int, first: int | None = None
) -> tuple[list[int], list[float]]:
    """Return who is added, one by one, after the `first`, and how far the mean then is."""
    counts: Floats = np.zeros(len(products))
    path: list[int] = []
    far: list[float] = []
    for size in range(1, rounds + 1):
        added = products @ counts * 2 + products.diagonal()
        # What rounding changes does not count as a difference.
        distances = np.round((counts @ products @ counts + added) / size**2, 12)
        winner = int(distances.argmin()) if path or first is None else first
        counts[winner] += 1
        path.append(winner)
        far.append(float(distances[winner]))
    return path, far


def _errors(predictions: Floats, judge: Judge) -> Floats:
    """Return the errors of predictions, shape (n_rows, n_classes) or (n_rows, 1)."""
    targets = judge.targets[:, None]
    if judge.classes is None:
        errors = predictions[:, None] - targets
    else:
        errors = predictions.astype(np.float64) - (targets == judge.classes)
    weights = np.ones(len(errors)) if judge.weights is None else judge.weights
    shares = weights / (weights.sum() * errors.shape[1])
    return np.asarray(errors * np.sqrt(shares)[:, None])


@dataclass
class EnsembleMember:
    """One configuration's models: of every fold, or one that was fitted on all rows."""

    arm: str
    weight: float
    models: list[Any]


MARGIN = 0.1
"""Of the range of targets, by which predictions may leave it."""


@dataclass
class EnsembleModel:
    """The mean of its members' predictions; a member's is the mean of its models'.

    - `n_classes`: 0 for a regression.
    - `span`: of a regression, where a model's predictions are cut off, see `span_of`.
    """

    members: list[EnsembleMember] = field(default_factory=list)
    n_classes: int = 0
    span: tuple[float, float] = (-math.inf, math.inf)

    def predict(self, features: Floats) -> Floats:
        """Return probabilities, shape (n_rows, n_classes), or values, shape (n_rows,)."""
        if not self.n_classes:  # in 32 bits a row's prediction depends on the rows next to it
            features = features.astype(np.float64)
        total: Any = 0.0
        for member in self.members:
            share = member.weight / len(member.models)
            for model in member.models:
                found = predict(model, features, self.n_classes)
                total = total + share * (found if self.n_classes else np.clip(found, *self.span))
        return np.asarray(total, dtype=np.float64)


def span_of(targets: ArrayLike) -> tuple[float, float]:
    """Return the range of the learned targets, with a tenth of it added at either side.

    A network or a linear model may predict a row unlike all others far beyond what was ever seen,
    and one such row of thousands costs more than all others together.

    Examples
    --------
    >>> span_of([2.0, 12.0, 7.0])
    (1.0, 13.0)
    """
    low, high = float(np.min(targets)), float(np.max(targets))
    margin = MARGIN * (high - low)
    return low - margin, high + margin
