"""Policies with a posterior of each arm's maximum: they draw it, or expect what it improves.

PS-Max: Amir Rezaei Balef, Claire Vernade, Katharina Eggensperger. "In-Context Decision Making for
Optimizing Complex AutoML Pipelines". 2025. The other is our own, with three known results on
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
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.environments.pulls import Unit
from leaseboard.algorithms.policies.policy import (
    RETIRE_AFTER,
    ArmPolicy,
    Floats,
    Ints,
    Policy,
)

MU_0, LAMBDA_0, ALPHA_0, BETA_0 = 1.0, 1.0, 1.0, 0.0
"""PS-Max's prior of every arm, on rewards from 0 to 1: normal-inverse-gamma."""


class _PsMaxPolicy(Policy):
    def _begin(self) -> None:
        self._first: list[float] = []
        self._mean: Floats = np.zeros(self.best.shape)
        self._squares: Floats = np.zeros(self.best.shape)

    def _choose(self) -> int:
        """Draw each arm's maximum and return the arm with the largest."""
        # Here, so that a start of the command line does not wait for scipy.
        from scipy.special import gammainccinv, ndtri

        n = self.pulls
        mu, lambda_n, alpha, beta = normal_inverse_gamma(n, self._mean, self._squares)
        draws = self.rng.random((len(n), 2))
        variance = beta / gammainccinv(alpha, draws[:, 0])
        spread = variance if self.settings.predictive else variance / lambda_n
        # The largest of t + 1 draws of a distribution F is one draw of F to the power of t + 1.
        maximum = mu + ndtri(draws[:, 1] ** (1 / (self.t + 1.0))) * np.sqrt(spread)
        return self._largest(maximum)

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        if self.t <= self.problem.n_arms:
            self._first.append(reward)
            if self.t == self.problem.n_arms:
                first = np.array(self._first)
                self._location, self._width = float(first.mean()), float(first.std()) + 0.01
                self._mean = self._shaped(first)
            return
        shaped = float(self._shaped(reward))
        off = shaped - self._mean[arm]
        self._mean[arm] += off / self.pulls[arm]
        self._squares[arm] += off * (shaped - self._mean[arm])

    def _shaped(self, reward: Floats | float) -> Floats:
        """Return rewards through the logistic curve around those of the first round."""
        return np.asarray(1 / (1 + np.exp(-(reward - self._location) / self._width)))


def normal_inverse_gamma(
    n: Ints, mean: Floats, squares: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return μ, λ, α and β of an arm's posterior after `n` rewards.

    `squares`: the sum of their squared differences from their mean.
    """
    lambda_n: Floats = LAMBDA_0 + n.astype(np.float64)
    mu: Floats = (LAMBDA_0 * MU_0 + n * mean) / lambda_n
    beta: Floats = BETA_0 + squares / 2 + n * (mean - mu) ** 2 / (2 * lambda_n)
    return mu, lambda_n, np.asarray(ALPHA_0 + n / 2, dtype=np.float64), beta


@dataclass(frozen=True, kw_only=True)
class PsMax(ArmPolicy):
    """PS-Max: a draw from the posterior of every arm's maximum, and the largest wins (Balef 2025).

    Parameters
    ----------
    predictive : bool
        Draw rewards, and not means.

    Notes
    -----
    A reward counts as its logistic transform, centred and scaled by the rewards of the first
    round, and the maximum is that of as many pulls as there are with the next one, as in the
    authors' code. A failed trial counts as the reward 0.

    As published, the largest of m draws is one of the posterior of an arm's *mean*, of which the
    variance is σ² / λ, so that it is too small by nearly the factor n. `predictive` takes σ², with
    which the draw is a reward's, given σ² and the mean's expectation.

    Departs from the authors' code: it draws from numpy's global generator, this from its own.
    Arm by arm, the first uniform number is the variance's, the second the maximum's, so
    with the same numbers the decisions are the same.
    """

    units: ClassVar[tuple[Unit, ...]] = ("trials",)

    predictive: bool = False

    state: ClassVar[type[Policy]] = _PsMaxPolicy


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
