"""Policies that learn nothing: the average policy and the random one."""

from __future__ import annotations

import numpy as np
from pydantic.dataclasses import dataclass

from algorithms.policies.policy import ArmPolicy, Floats, Ints, Policy, Problem


@dataclass(frozen=True, kw_only=True)
class Average(ArmPolicy):
    """AVG: the same share of the budget for every arm, one arm after the other.

    The arms come in random order and the last one gets the remainder, as in the code of
    Rising Bandits' authors.
    """

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """An order of the arms."""
        return _AveragePolicy(problem, rng)


@dataclass(frozen=True, kw_only=True)
class RandomArm(ArmPolicy):
    """Random: every pull goes to an arm drawn uniformly."""

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """Nothing but chance."""
        return _RandomPolicy(problem, rng)


class _AveragePolicy(Policy):
    initial_round = False

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem)
        arms = np.tile(np.arange(problem.n_arms), (problem.repeats, 1))
        self._order: Ints = rng.permuted(arms, axis=-1)
        self._turn: Ints = np.zeros(problem.repeats, dtype=np.intp)
        self._spent: Floats = np.zeros(problem.repeats)
        share = problem.budget / problem.n_arms
        self._share = np.floor(share) if problem.unit == "trials" else share

    def certain(self) -> list[int]:
        """The arms whose share is still to come."""
        if self._share < 1:
            return []
        return [int(arm) for arm in self._order[0, self._turn[0] :]]

    def _choose(self) -> Ints:
        return self._order[self._runs, self._turn]

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        self._spent += cost
        full = (self._spent >= self._share) & (self._turn < self.problem.n_arms - 1)
        self._turn[full] += 1
        self._spent[full] = 0.0


class _RandomPolicy(Policy):
    initial_round = False

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem)
        self._rng = rng

    def _choose(self) -> Ints:
        return self._rng.integers(self.problem.n_arms, size=self.problem.repeats)

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        """Nothing to learn."""
