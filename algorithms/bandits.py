"""Policies over arms: even shares, random choice, indices of mean or maximum.

UCB, ε-greedy, softmax and Thompson sampling look at an arm's mean. MaxUCB bounds its maximum: Amir
Rezaei Balef, Claire Vernade, Katharina Eggensperger. "Put CASH on Bandits: A Max K-Armed Problem
for Automated Machine Learning". 2025.

PosteriorMax, which is our own, has a posterior of each arm's maximum, by three known results on
records and upper tails:

1. Of exchangeable rewards without ties each of the first n + 1 is the largest with the same
   probability. So the next one is a record with probability 1 / (n + 1), for any distribution
   (Rényi 1962, "Théorie des éléments saillants d'une suite d'observations").
2. Above a high level nearly all upper tails are exponential, or shorter. Of an exponential tail of
   mean σ the spacings of the largest rewards, j (x_(j) - x_(j+1)) for j = 1, 2, ..., m, are
   independent and exponential of mean σ (Rényi 1953, "On the theory of order statistics"). They
   sum to Σ (x_(j) - x_(m+1)), and the excess of a record over the best so far is of the same
   distribution.
3. With an inverse-gamma prior of σ, the posterior is of the same form, and an excess has a
   Lomax distribution: P(excess > g) = (1 + g / β)^-α, with the expectation of its part beyond g
   β / (α - 1) · (1 + g / β)^(1 - α).
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policy import RETIRE_AFTER, ArmPolicy, Bools, Floats, Ints, Policy


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


TAIL = 3
"""m, how many spacings of an arm's largest rewards count."""
STRENGTH = 3.0
"""α of the prior of an arm's mean excess."""
SCALE = 0.3
"""The mean excess of the prior, in standard deviations of the arms' first rewards."""
RECORDS = 2.0
"""Strength of the prior ω = 1, in records: the posterior is (`RECORDS` + those after the first
reward) / (`RECORDS` + Σ 1/i over i = 2, ..., n), from Poisson counts with a gamma prior."""
LEAST_SCALE = 1e-3
"""Of the prior, where all arms begin alike."""
LEAST_COST = 1e-9


def expected_improvement(gap: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Return by how much a record of an arm exceeds, in the mean, what is `gap` above its best.

    `alpha`, `beta`: of the posterior of the mean excess.
    """
    return np.asarray(beta / (alpha - 1) * (1 + gap / beta) ** (1 - alpha), dtype=np.float64)


class _PosteriorMaxPolicy(Policy):
    def _begin(self) -> None:
        names, n_arms = self.problem.names, self.problem.n_arms
        place = {name: number for number, name in enumerate(self.settings.first)}
        if names:
            self.order.sort(key=lambda arm: place.get(names[arm], len(place)))
        self._top: Floats = np.full((n_arms, TAIL + 1), -np.inf)
        self._spacings: Floats = np.zeros(n_arms)
        self._excess: Floats = np.zeros(n_arms)
        self._records: Floats = np.zeros(n_arms)
        self._expected: Floats = np.zeros(n_arms)
        self._scale = LEAST_SCALE

    def index(self) -> Floats:
        """Return the improvement that a unit of the budget buys in the mean, by arm."""
        best = self._top[:, 0]
        # Nothing is known of an arm without a completed trial: it counts as the worst of others.
        known = best > -np.inf
        gap = np.zeros(len(best))
        if known.any():
            gap = best.max() - np.where(known, best, best[known].min())
        beta = SCALE * (STRENGTH - 1) * self._scale + self._excess
        improvement = expected_improvement(gap, STRENGTH + self._spacings, beta)
        growth = (RECORDS + self._records) / (RECORDS + self._expected)
        record = np.minimum(1.0, growth / (self.pulls + 1))
        cost = np.maximum(self.costs / self.pulls, LEAST_COST)
        return np.asarray(record * improvement / cost, dtype=np.float64)

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        top, n = self._top[arm], self.pulls[arm]
        if self.failure[arm]:
            reward = -math.inf
        if n > 1 and top[0] > -np.inf:
            self._records[arm] += reward > top[0]
            self._expected[arm] += 1 / n
        # Insert into what falls from left to right: the smaller of each and its left neighbour.
        left = np.concatenate([[np.inf], top[:-1]])
        self._top[arm] = top = np.minimum(left, np.maximum(top, reward))
        known = top[top > -np.inf]
        self._spacings[arm] = max(len(known) - 1, 0)
        self._excess[arm] = (known - known.min(initial=np.inf)).sum()
        if self.t == self.problem.n_arms:
            first = self._top[:, 0]
            first = first[first > -np.inf]
            self._scale = max(float(first.std()) if len(first) else 0.0, LEAST_SCALE)


@dataclass(frozen=True, kw_only=True)
class PosteriorMax(ArmPolicy):
    """Posterior of the maximum: the arm whose next trial improves the answer most, by its cost.

    An arm's next reward is a record with probability ω / (n + 1), ω being its growth. A record's
    excess over the arm's best is exponential, with an inverse-gamma posterior of its mean from the
    arm's largest rewards. So the expected improvement of the best reward of all arms has a closed
    form, which is divided by the mean cost of the arm's trials.

    Parameters
    ----------
    first : tuple of str
        Arms in the order in which the first round pulls them, a prior from other datasets; the
        others follow in theirs. A name that the space does not have counts for nothing.

    Notes
    -----
    Rewards that rise, as those of an optimiser that learns, break more records than 1 / (n + 1)
    says, and those of an arm that has reached its limit fewer. ω is here what the growth rate is
    in Rising Bandits: an arm that grows is expected to grow on, at a rate that falls with n.

    A failed trial is censored: it counts as a pull that broke no record, and not as the reward 0,
    so that an arm that often fails is not taken for one with a wide distribution.
    """

    first: tuple[str, ...] = ()
    retire_after: Annotated[int, Field(ge=0)] = RETIRE_AFTER

    state: ClassVar[type[Policy]] = _PosteriorMaxPolicy
