"""ER-UCB: the extreme-region upper confidence bound bandit.

Yi-Qi Hu, Yang Yu, Jun-Da Liao. "Cascaded Algorithm-Selection and Hyper-Parameter Optimization
with Extreme-Region Upper Confidence Bound Bandit". IJCAI 2019.

What counts is an arm's best feedback, not its mean. With Y = X - β and Z = (X - β)², the target
μ_Y + sqrt(μ_Z / θ) estimates the value that an arm exceeds with a probability of at most θ.

| paper | here |
| --- | --- |
| μ̂_Y, μ̂_Z | `mu_y`, `mu_z` |
| T_i(t), t | `pulls`, `t` |
| Ω, Ψ' | `exploitation`, `exploration` |
| θ, γ, β | `theta`, `gamma`, `beta` |
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.policy import RETIRE_AFTER, ArmPolicy, Floats, Ints, Policy


def exploitation(mu_y: Floats, mu_z: Floats, theta: float) -> Floats:
    """Return Ω = μ_Y + sqrt(μ_Z / θ), equation 14."""
    return mu_y + np.sqrt(mu_z / theta)


def exploration(pulls: Ints, t: int, theta: float) -> Floats:
    """Return Ψ' = e + sqrt(e / θ) with e = sqrt(4 ln t / (2 T_i)), equation 15."""
    e = np.sqrt(4.0 * np.log(t) / (2 * pulls))
    return np.asarray(e + np.sqrt(e / theta), dtype=np.float64)


class ErUcbPolicy(Policy):
    """Algorithm 1, one pull at a time; the numbers are its lines."""

    def _begin(self) -> None:
        self.beta = float(self.settings.beta)
        self.mu_y: Floats = np.zeros(self.best.shape)
        self.mu_z: Floats = np.zeros(self.best.shape)

    def index(self) -> Floats:
        """Return γ Ω + Ψ' of every arm, equation 17, of which line 6 takes the largest."""
        s = self.settings
        omega: Floats = s.gamma * exploitation(self.mu_y, self.mu_z, s.theta)
        return omega + exploration(self.pulls, self.t + 1, s.theta)

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        self._add(arm, reward, int(self.pulls[arm]))

    def _add(self, arm: int, reward: float, n: int) -> None:
        y = reward - self.beta
        self.mu_y[arm] += (y - self.mu_y[arm]) / n  # line 8
        self.mu_z[arm] += (self._z(y) - self.mu_z[arm]) / n  # line 9

    def _z(self, y: float) -> float:
        return y * y


@dataclass(frozen=True, kw_only=True)
class ErUcb(ArmPolicy):
    """ER-UCB: the arm with the largest extreme region; needs a β tuned per task (IJCAI 2019).

    Parameters
    ----------
    theta : float
        θ, the size of the extreme region.
    gamma : float
        γ, the weight of the exploitation term (equation 17); 1 is equation 16.
    beta : float
        β, which lessens the weight of the mean. It must lie a little above the mean feedback
        of the arm with the best mean: below it the policy fails. The paper tuned it per task
        with hindsight. Where you cannot, take `ErUcbAuto`, which is what we recommend.

    Notes
    -----
    t in equation 15 is the number of the pull about to be made. Nothing is clipped: the
    synthetic feedbacks of the paper exceed 1.

    The paper does not say what a failed trial is: here its feedback is 0. That is far below β,
    which the square takes for far above: at β = 0.5 and θ = 0.01 an arm that always fails has
    Ω = 4.5, and gets most trials. `ErUcbAuto` does not have this fault.
    """

    theta: Annotated[float, Field(gt=0)] = 0.01
    gamma: Annotated[float, Field(ge=0)] = 20.0
    beta: float = 0.85

    state: ClassVar[type[Policy]] = ErUcbPolicy


FIRST_PULLS = 5
"""Pulls of each arm before β is chosen for the first time; `beta` is not used after that."""


class AutoBetaPolicy(ErUcbPolicy):
    """ER-UCB whose β follows the largest mean in epochs of doubling length."""

    def _begin(self) -> None:
        super()._begin()
        self._first = self._next_epoch = FIRST_PULLS * self.problem.n_arms
        self._seen: list[tuple[int, float]] = []

    def _choose(self) -> int:
        if self.t < self._first:
            return self._largest(-self.pulls.astype(np.float64))
        return super()._choose()

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        self._seen.append((arm, reward))
        super()._learn(arm, reward, cost)
        if self.t == self._next_epoch:
            self._next_epoch *= 2
            self.beta = float(self.mean.max())
            # Both moments about the new β, from the feedbacks since the beginning.
            self.mu_y[:], self.mu_z[:] = 0.0, 0.0
            seen = [0] * self.problem.n_arms
            for past, feedback in self._seen:
                seen[past] += 1
                self._add(past, feedback, seen[past])

    def _z(self, y: float) -> float:
        return super()._z(max(y, 0.0) if self.settings.one_sided else y)


@dataclass(frozen=True, kw_only=True)
class ErUcbAuto(ErUcb):
    """ER-UCB with a β chosen from what was seen, without hindsight: the recommended one.

    β is the largest mean feedback of any arm so far, that of a failed trial being 0. It is moved
    after `FIRST_PULLS` pulls per arm, made in turn, and then whenever the number of pulls has
    doubled, so that it is soon steady.

    Parameters
    ----------
    one_sided : bool
        Let only feedbacks above β count in μ_Z.

    Notes
    -----
    Departs from the paper: μ_Z is the mean of max(X - β, 0)², not of (X - β)², because the
    square makes an arm far below β as attractive as one far above it: at θ = 0.01 an arm that
    always fails gets Ω = 9 β. The paper's β, tuned for each task, lies below most feedbacks,
    where this does not show; a β above the best mean needs the region to be one-sided.
    """

    one_sided: bool = True

    retire_after: Annotated[int, Field(ge=0)] = RETIRE_AFTER

    state: ClassVar[type[Policy]] = AutoBetaPolicy
