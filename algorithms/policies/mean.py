"""Policies on an arm's mean feedback: UCB, ε-greedy, softmax and Thompson sampling."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policies.policy import ArmPolicy, Bools, Floats, Ints, Policy, Problem


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
