"""Policies that learn nothing: the average policy and the random one."""

from __future__ import annotations

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policies.policy import ArmPolicy, Floats, Ints, Policy, Problem


@dataclass(frozen=True, kw_only=True)
class Average(ArmPolicy):
    """AVG: the same share of the budget for every arm, one arm after the other.

    The arms come in random order and the last one gets the remainder, as in the code of
    Rising Bandits' authors. What a retired arm leaves is shared among those to come, and if there
    are none, among all others in the same order.
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
        self._left: Floats = np.full(problem.repeats, float(problem.budget))
        self._share: Floats = self._even(self._left, problem.n_arms)

    def certain(self) -> list[int]:
        """The arms whose share is still to come."""
        if self._share[0] < 1:
            return []
        return [int(arm) for arm in self._order[0, self._turn[0] :] if self.candidates[0, arm]]

    def _even(self, left: Floats, n_arms: int) -> Floats:
        """An equal share of what is left for so many arms."""
        share = left / max(n_arms, 1)
        return np.floor(share) if self.problem.unit == "trials" else share

    def _choose(self) -> Ints:
        return self._order[self._runs, self._turn]

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        self._spent += cost
        self._left -= cost
        full = (self._spent >= self._share) & (self._turn < self.problem.n_arms - 1)
        self._turn[full] += 1
        self._spent[full] = 0.0
        for run in np.flatnonzero(~self.candidates[self._runs, arm]):
            self._share_anew(run)

    def _share_anew(self, run: np.intp) -> None:
        """Put the arms to come, whose shares grow, behind those that had theirs or are retired."""
        order = self._order[run]
        wanted = self.candidates[run, order] & (np.arange(len(order)) >= self._turn[run])
        if not wanted.any():
            wanted = self.candidates[run, order]
        n_arms = int(wanted.sum())
        self._order[run] = np.concatenate([order[~wanted], order[wanted]])
        self._turn[run] = len(order) - n_arms
        self._spent[run] = 0.0
        self._share[run] = self._even(self._left[run], n_arms)


class _RandomPolicy(Policy):
    initial_round = False

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem)
        self._rng = rng

    def _choose(self) -> Ints:
        return self._drawn(self._rng)

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        """Nothing to learn."""
