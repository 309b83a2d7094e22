"""Policies over arms: even shares, random choice, indices of mean or maximum.

UCB, ε-greedy, softmax and Thompson sampling look at an arm's mean. MaxUCB bounds its maximum: Amir
Rezaei Balef, Claire Vernade, Katharina Eggensperger. "Put CASH on Bandits: A Max K-Armed Problem
for Automated Machine Learning". 2025.
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policy import ArmPolicy, Bools, Floats, Ints, Policy


class _AveragePolicy(Policy):
    initial_round = False

    def _begin(self) -> None:
        self._queue = self.rng.permuted(np.arange(self.problem.n_arms)).tolist()
        self._order = [*self._queue]
        self._share_out()

    def _share_out(self) -> None:
        """Give each arm of the queue an equal share of what is left of the budget."""
        share = (self.problem.budget - self.costs.sum()) / max(len(self._queue), 1)
        self._share = math.floor(share) if self.problem.unit == "trials" else float(share)
        self._spent = 0.0

    def _choose(self) -> int:
        return int(self._queue[0])

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        self._spent += cost
        if not self.candidates[arm]:
            self._leave(arm)
        elif self._spent >= self._share and len(self._queue) > 1:
            self._queue.pop(0)
            self._spent = 0.0

    def retire(self, arm: int, why: str) -> None:
        """Retire as every policy; the arms to come share what is left."""
        super().retire(arm, why)
        self._leave(arm)

    def _leave(self, arm: int) -> None:
        self._queue.remove(arm)
        # After the last arm all others are to come again.
        self._queue = self._queue or [other for other in self._order if self.candidates[other]]
        self._share_out()


@dataclass(frozen=True, kw_only=True)
class Average(ArmPolicy):
    """AVG: the same share of the budget for every arm, one arm after the other.

    The arms come in random order and the last one gets the remainder, as in the code of
    Rising Bandits' authors. What a retired arm leaves is shared among those to come, or after the
    last among all others in the same order.
    """

    state: ClassVar[type[Policy]] = _AveragePolicy


class _RandomPolicy(Policy):
    initial_round = False

    def _choose(self) -> int:
        return self._drawn()


@dataclass(frozen=True, kw_only=True)
class RandomArm(ArmPolicy):
    """Random: every pull goes to an arm drawn uniformly."""

    state: ClassVar[type[Policy]] = _RandomPolicy


class _UcbPolicy(Policy):
    def _begin(self) -> None:
        constant = ~np.array(self.problem.tunable, dtype=np.bool_)
        freeze = self.settings.freeze_constant_arms and constant.any() and not constant.all()
        self._frozen: Bools = constant if freeze else np.zeros(self.problem.n_arms, dtype=np.bool_)

    def index(self) -> Floats:
        """Return the index of every arm, for the pull about to be made."""
        return ucb_index(self.settings.gamma * self.mean, self.pulls, self.t + 1)

    def _choose(self) -> int:
        index = self.index()
        if (self.candidates & ~self._frozen).any():
            index[self._frozen] = -np.inf
        return self._largest(index)


def ucb_index(mean: Floats, pulls: Ints, t: int) -> Floats:
    """Return the mean plus sqrt(2 ln t / n), t being the number of the pull about to be made."""
    return np.asarray(mean + np.sqrt(2 * np.log(t) / pulls), dtype=np.float64)


def softmax(value: Floats, temperature: float) -> Floats:
    """Return exp(value / τ), normalised."""
    weight = np.exp((value - value.max()) / temperature)
    return np.asarray(weight / weight.sum(), dtype=np.float64)


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

    state: ClassVar[type[Policy]] = _UcbPolicy


class _GreedyPolicy(Policy):
    def _choose(self) -> int:
        explore, drawn = self.rng.random() < self.settings.epsilon, self._drawn()
        values = self.mean if self.settings.value == "mean" else self.best
        return drawn if explore else self._largest(values)


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

    state: ClassVar[type[Policy]] = _GreedyPolicy


class _SoftmaxPolicy(Policy):
    def _choose(self) -> int:
        value = np.where(self.candidates, self.mean, -np.inf)
        cumulative = softmax(value, self.settings.temperature).cumsum()
        return int((cumulative <= self.rng.random() * cumulative[-1]).sum())


@dataclass(frozen=True, kw_only=True)
class Softmax(ArmPolicy):
    """Softmax: an arm's probability is proportional to exp(mean feedback / τ).

    Sutton and Barto, "Reinforcement Learning", 2nd edition, 2018.

    Parameters
    ----------
    temperature : float
        τ: 0.1 in the ER-UCB paper; 1 in the code of Rising Bandits' authors, which is nearly
        uniform on accuracies.
    """

    temperature: Annotated[float, Field(gt=0)] = 0.1

    state: ClassVar[type[Policy]] = _SoftmaxPolicy


class _ThompsonPolicy(Policy):
    def _begin(self) -> None:
        self._successes: Ints = np.zeros(self.best.shape, dtype=np.intp)

    def _choose(self) -> int:
        s, n = self._successes, self.pulls
        return self._largest(self.rng.beta(1 + s, 1 + n - s))

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        self._successes[arm] += self.rng.random() < reward


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling(ArmPolicy):
    """CMAB: Thompson sampling on feedbacks that a coin flip makes a success or a failure.

    The baseline CMAB of Rising Bandits: an arm's success rate has the posterior
    Beta(1 + s, 1 + n - s), and a feedback r counts as a success with probability r.
    Russo et al., "A Tutorial on Thompson Sampling", 2018.
    """

    state: ClassVar[type[Policy]] = _ThompsonPolicy


LOW, HIGH = 0.01, 0.99
"""The range into which MaxUCB rescales the feedbacks seen so far."""


class _MaxUcbPolicy(Policy):
    def _begin(self) -> None:
        self._lowest = math.inf

    def index(self) -> Floats:
        """Return the index of every arm, for the pull about to be made."""
        maximum = rescaled(self.best, self._lowest, self.best.max())
        return max_ucb_index(maximum, self.pulls, self.t + 1, self.settings.alpha)

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        self._lowest = min(self._lowest, reward)


def max_ucb_index(maximum: Floats, pulls: Ints, t: int, alpha: float) -> Floats:
    """Return the maximum plus (α ln t / n)²."""
    return np.asarray(maximum + (alpha * np.log(t) / pulls) ** 2, dtype=np.float64)


def rescaled(value: Floats, lowest: float, highest: float) -> Floats:
    """Return `value` on the line through (lowest, 0.01) and (highest, 0.99)."""
    width = highest - lowest if highest > lowest else 1.0
    return np.asarray(LOW + (HIGH - LOW) * (value - lowest) / width, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class MaxUcb(ArmPolicy):
    """MaxUCB: the arm with the largest maximum plus (α ln t / n)² (Balef et al. 2025).

    It needs no horizon: the bonus of a maximum falls with 1 / n², faster than that of a mean.

    Parameters
    ----------
    alpha : float
        α, the weight of exploration.

    Notes
    -----
    The smallest and the largest feedback seen so far are mapped to 0.01 and 0.99.
    """

    alpha: Annotated[float, Field(ge=0)] = 0.5

    state: ClassVar[type[Policy]] = _MaxUcbPolicy
