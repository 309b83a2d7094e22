"""Models of the estimators: a learning rate, its learners, and what their answers are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from leaseboard.algorithms.apple.apple import Apple, Growth, adaptive_expansion
from leaseboard.algorithms.apple.learner import GrowingLearner
from leaseboard.algorithms.apple.rates import FINAL, FINALISTS, PREFIX
from leaseboard.algorithms.apple.rows import Targets
from leaseboard.algorithms.environments.arrays import squared_losses
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.transcendental import exp, exp_all, log, log_all

RECENT = PREFIX
"""How many of the last predictions say what a margin is worth, and which rate is better."""

STEEPEST = 50.0

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows with a row of targets for each learner, and weights above 0 or None for all 1."""

    rows: Rows
    targets: Targets
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.targets.T)

    def at(self, places: NDArray[np.intp] | slice) -> Examples:
        """Return the examples at `places`."""
        weights = None if self.weights is None else self.weights[places]
        return Examples(self.rows[places], self.targets[:, places], weights)


@dataclass(eq=False)
class RateModel:
    """Learning rate with a learner for each target.

    Attributes
    ----------
    rate : float
    learners : tuple of GrowingLearner
    loss_sum : float
        The weighted squared losses of what it predicted before it learned it.
    recent : ndarray of float32, shape (n, n_targets)
        What it predicted of the last examples; `truths` and `weights` are these examples'.
    """

    rate: float
    learners: tuple[GrowingLearner, ...]
    loss_sum: float = 0.0
    recent: Floats = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    truths: Floats = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    weights: Floats = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    def learn(self, examples: Examples, growth: Growth) -> None:
        """Learn the examples in their order, each after it was predicted."""
        weights = examples.weights
        said = np.column_stack([
            np.concatenate([
                chunk.predictions
                for chunk in adaptive_expansion(learner, examples.rows, target, growth, weights)
            ])
            for learner, target in zip(self.learners, examples.targets, strict=True)
        ])  # fmt: skip
        heavy = np.ones(len(examples), dtype=np.float32) if weights is None else weights
        self.loss_sum += float(
            (heavy * squared_losses(said, examples.targets.T).sum(axis=1)).sum()
        )
        self.recent, self.truths, self.weights = (
            np.concatenate([old.reshape(-1, *new.shape[1:]), new])[-RECENT:]
            for old, new in (
                (self.recent, said),
                (self.truths, examples.targets.T),
                (self.weights, heavy),
            )
        )

    def recent_loss(self) -> float:
        """Return the weighted squared losses of the recent predictions."""
        return float((self.weights * squared_losses(self.recent, self.truths).sum(axis=1)).sum())


def fresh(algorithm: Apple, examples: Examples, rate: float) -> RateModel:
    """Return one that has learned nothing."""
    learners = tuple(algorithm.learner(examples.rows, rate) for _ in examples.targets)
    return RateModel(rate, learners)


def learned_by(algorithm: Apple, rates: Sequence[float], examples: Examples) -> list[RateModel]:
    """Let all rates learn; those that have not diverged, the one that has lost least first.

    Raises DivergedError if none is left.
    """
    left, reason = [], ""
    for rate in rates:
        model = fresh(algorithm, examples, rate)
        try:
            model.learn(examples, algorithm.growth(len(examples)))
        except DivergedError as error:
            reason = str(error)
        else:
            left.append(model)
    if not left:
        raise DivergedError(reason)
    return sorted(left, key=lambda model: model.loss_sum)


def raced(algorithm: Apple, examples: Examples) -> RateModel:
    """Return the best of all rates, which has learned `examples`, the first pass of a fit.

    All learn the first examples. Where these are not all, the best one and the best below it start
    again, on more of them. Where these are not all either, the better one does.
    """
    few, more = (examples.at(slice(n)) for n in (PREFIX, FINAL))
    ranked = learned_by(algorithm, algorithm.tried, few)
    best = ranked[0]
    if len(few) < len(examples):
        rates = [model.rate for model in ranked if model.rate <= best.rate][:FINALISTS]
        best = min(learned_by(algorithm, rates, more), key=RateModel.recent_loss)
    if len(more) < len(examples):
        (best,) = learned_by(algorithm, [best.rate], examples)
    return best


def margins_of_classes(margins: NDArray[np.floating]) -> Doubles:
    """Return a column for each class; a single column is that of the second of two."""
    wide = margins.astype(np.float64)
    return np.column_stack([-wide[:, 0], wide[:, 0]]) if wide.shape[1] == 1 else wide


def log_probabilities(margins: Doubles, slope: float) -> Doubles:
    """Return log probabilities: `slope` times each margin, less the logarithm of their sum."""
    exponents = slope * margins
    exponents -= exponents.max(axis=1, keepdims=True)
    return exponents - log_all(exp_all(exponents).sum(axis=1, keepdims=True))


def slope_of(model: RateModel) -> float:
    """Return the slope at which the recent predictions have the least log loss.

    Platt 1999, Probabilistic outputs for support vector machines, without his constant: of two
    classes a margin of 0 is a probability of 1/2, so that the likeliest class is the one
    predicted. One more example is counted that is certain and wrong, where Platt moves the labels:
    a model that was never wrong would be certain otherwise.
    """
    margins = margins_of_classes(model.recent)
    own = margins_of_classes(model.truths) > 0
    worst = np.where(np.arange(margins.shape[1]) == 0, 1.0, -1.0)[None, :]

    def log_loss(log_slope: float) -> float:
        slope = exp(log_slope)
        lost = -(model.weights * log_probabilities(margins, slope)[own]).sum()
        return float(lost - log_probabilities(worst, slope)[0, -1])

    steepest = log(STEEPEST)
    return exp(float(minimize_scalar(log_loss, bounds=(-steepest, steepest)).x))
