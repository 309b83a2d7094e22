"""Classic policies over arms: even shares, chance, and indices of the mean or of the maximum.

UCB, ε-greedy, softmax and Thompson sampling look at an arm's mean. MaxUCB bounds its maximum: Amir
Rezaei Balef, Claire Vernade, Katharina Eggensperger. "Put CASH on Bandits: A Max K-Armed Problem
for Automated Machine Learning". 2025.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policies.policy import ArmPolicy, Bools, Floats, Ints, Policy, Problem


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


@dataclass(frozen=True, kw_only=True)
class UpperConfidenceBound(ArmPolicy):
    """UCB: the arm with the largest mean feedback plus sqrt(2 ln t / n).

    Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", 2002.

    Parameters
    ----------
    gamma : float
        The weight of the mean. 1 is UCB1; the row C-UCB of ER-UCB's Table 1 fits only a weight
        of 20, which its text does not mention.
    freeze_constant_arms : bool
        Pull an arm without hyperparameters only once: its trials are all alike. The code of
        Rising Bandits' authors does so.
    """

    gamma: Annotated[float, Field(ge=0)] = 1.0
    freeze_constant_arms: bool = False

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The means; deterministic."""
        return _UcbPolicy(problem, self)


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(ArmPolicy):
    """ε-greedy: a random arm with probability ε, otherwise the best one so far.

    Parameters
    ----------
    epsilon : float
    value : {"mean", "best"}
        Which of an arm's feedbacks make it the best: their mean, or their maximum.
    """

    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    value: Literal["mean", "best"] = "mean"

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The means, and chance."""
        return _GreedyPolicy(problem, self, rng)


@dataclass(frozen=True, kw_only=True)
class Softmax(ArmPolicy):
    """Softmax: an arm's probability is proportional to exp(mean feedback / τ).

    Sutton and Barto, "Reinforcement Learning", 2nd edition, 2018.

    Parameters
    ----------
    temperature : float
        τ: 0.1 in the ER-UCB paper; 1 in the code of Rising Bandits' authors, which is nearly
        uniform on accuracies.
    value : {"mean", "best"}
        The feedback of an arm: its mean or its maximum.
    """

    temperature: Annotated[float, Field(gt=0)] = 0.1
    value: Literal["mean", "best"] = "mean"

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The means, and chance."""
        return _SoftmaxPolicy(problem, self, rng)


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling(ArmPolicy):
    """CMAB: Thompson sampling on feedbacks that a coin flip turns into success or failure.

    The baseline CMAB of Rising Bandits: an arm's success rate has the posterior
    Beta(1 + s, 1 + n - s), and a feedback r counts as a success with probability r.
    Russo et al., "A Tutorial on Thompson Sampling", 2018.
    """

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The successes, and chance."""
        return _ThompsonPolicy(problem, rng)


class _MeanPolicy(Policy):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.mean: Floats = np.zeros(self.best.shape)

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        at = (self._runs, arm)
        self.mean[at] += (reward - self.mean[at]) / self.pulls[at]


class _UcbPolicy(_MeanPolicy):
    def __init__(self, problem: Problem, settings: UpperConfidenceBound) -> None:
        super().__init__(problem)
        self._gamma = settings.gamma
        frozen = ~np.array(problem.tunable, dtype=np.bool_)
        freeze = settings.freeze_constant_arms and frozen.any() and not frozen.all()
        self._frozen: Bools | None = frozen if freeze else None

    def index(self) -> Floats:
        """Of every arm, for the pull about to be made."""
        return ucb_index(self._gamma * self.mean, self.pulls, self.t + 1)

    def standing(self) -> dict[str, Floats]:
        """The index of every arm."""
        return {"index": self.index()}

    def _choose(self) -> Ints:
        index = self.index()
        if self._frozen is not None:
            tunable = (self.candidates & ~self._frozen).any(axis=-1, keepdims=True)
            index[np.logical_and(tunable, self._frozen)] = -np.inf
        return self._largest(index)


class _GreedyPolicy(_MeanPolicy):
    def __init__(
        self, problem: Problem, settings: EpsilonGreedy, rng: np.random.Generator
    ) -> None:
        super().__init__(problem)
        self._settings = settings
        self._rng = rng

    def _choose(self) -> Ints:
        value = self.mean if self._settings.value == "mean" else self.best
        repeats = self.problem.repeats
        explore = self._rng.random(repeats) < self._settings.epsilon
        return np.where(explore, self._drawn(self._rng), self._largest(value))


class _SoftmaxPolicy(_MeanPolicy):
    def __init__(self, problem: Problem, settings: Softmax, rng: np.random.Generator) -> None:
        super().__init__(problem)
        self._settings = settings
        self._rng = rng

    def _choose(self) -> Ints:
        value = self.mean if self._settings.value == "mean" else self.best
        value = np.where(self.candidates, value, -np.inf)
        cumulative = softmax(value, self._settings.temperature).cumsum(axis=-1)
        draws = self._rng.random((self.problem.repeats, 1)) * cumulative[:, -1:]
        return np.asarray((cumulative <= draws).sum(axis=-1), dtype=np.intp)


class _ThompsonPolicy(Policy):
    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem)
        self._rng = rng
        self._successes: Ints = np.zeros(self.best.shape, dtype=np.intp)

    def _choose(self) -> Ints:
        s, n = self._successes, self.pulls
        return self._largest(self._rng.beta(1 + s, 1 + n - s))

    def _learn(self, arm: Ints, reward: Floats, cost: Floats) -> None:
        self._successes[self._runs, arm] += self._rng.random(self.problem.repeats) < reward


def ucb_index(mean: Floats, pulls: Ints, t: int) -> Floats:
    """Mean plus sqrt(2 ln t / n), t being the number of the pull about to be made."""
    return np.asarray(mean + np.sqrt(2 * np.log(t) / pulls), dtype=np.float64)


def softmax(value: Floats, temperature: float) -> Floats:
    """exp(value / τ), normalised over the last axis."""
    weight = np.exp((value - value.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True), dtype=np.float64)


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
