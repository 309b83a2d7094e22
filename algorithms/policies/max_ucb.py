"""MaxUCB: an upper confidence bound on an arm's maximum.

Amir Rezaei Balef, Claire Vernade, Katharina Eggensperger. "Put CASH on Bandits: A Max K-Armed
Problem for Automated Machine Learning". 2025.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policies.policy import ArmPolicy, Floats, Ints, Policy, Problem

LOW, HIGH = 0.01, 0.99
"""The range into which MaxUCB rescales the feedbacks seen so far."""


@dataclass(frozen=True, kw_only=True)
class MaxUcb(ArmPolicy):
    """MaxUCB: the arm with the largest maximum plus (α ln t / n)² (Balef et al. 2025).

    It needs no horizon: the bonus of a maximum falls with 1 / n², faster than that of a mean.

    Parameters
    ----------
    alpha : float
        α, the weight of exploration.
    rescale : bool
        Map the smallest and the largest feedback seen so far to 0.01 and 0.99.
    """

    alpha: Annotated[float, Field(ge=0)] = 0.5
    rescale: bool = True

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The maxima; deterministic."""
        return _MaxUcbPolicy(problem, self)


class _MaxUcbPolicy(Policy):
    def __init__(self, problem: Problem, settings: MaxUcb) -> None:
        super().__init__(problem)
        self._settings = settings
        self._lowest: Floats = np.full((problem.repeats, 1), np.inf)

    def _choose(self) -> Ints:
        maximum = self.best
        if self._settings.rescale:
            maximum = rescaled(maximum, self._lowest, self.best.max(axis=-1, keepdims=True))
        return self._largest(max_ucb_index(maximum, self.pulls, self.t + 1, self._settings.alpha))

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        self._lowest[:, 0] = np.minimum(self._lowest[:, 0], reward)


def max_ucb_index(maximum: Floats, pulls: Ints, t: int, alpha: float) -> Floats:
    """Maximum plus (α ln t / n)²."""
    return np.asarray(maximum + (alpha * np.log(t) / pulls) ** 2, dtype=np.float64)


def rescaled(value: Floats, lowest: Floats, highest: Floats) -> Floats:
    """`value` on the line through (lowest, 0.01) and (highest, 0.99)."""
    width = np.where(highest > lowest, highest - lowest, 1.0)
    return np.asarray(LOW + (HIGH - LOW) * (value - lowest) / width, dtype=np.float64)
