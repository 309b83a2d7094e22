"""Rising Bandits: pull every candidate in turn, dismiss those that can no longer win.

Yang Li, Jiawei Jiang, Jinyang Gao, Yingxia Shao, Ce Zhang, Bin Cui.
"Efficient Automatic CASH via Rising Bandits". AAAI 2020.

An arm is a learning algorithm and one pull is one trial of its own hyperparameter optimiser.
The best validation accuracy y of an arm only rises, and roughly with falling steps; so its
growth rate bounds what the arm can still reach.

| paper | here |
| --- | --- |
| K, T, C | `n_arms`, `budget`, `C` |
| S_cand | `candidates` |
| t, n | `t` (all pulls), `pulls` (an arm's own) |
| y_k, ω_k, u_k, l_k | `best`, `growth_rate`, `upper`, `lower` |
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.environments.pulls import Unit
from leaseboard.algorithms.policy import ArmPolicy, Bools, Floats, Policy

_LEAST_COST = 1e-9


def growth_rate(y: float, y_before: float, C: int) -> float:
    """Return ω = (y(n) - y(n - C)) / C, equation 10."""
    return (y - y_before) / C


def upper_bound(y: float, omega: float, steps: float) -> float:
    """Return the upper bound min(1, y + ω · steps), equation 9 with the horizon T as its t.

    A feedback above 1, which no accuracy is, bounds itself.
    """
    return max(y, min(1.0, y + omega * steps))


def survivors(lower: Floats, upper: Floats, candidates: Bools, *, strict: bool = False) -> Bools:
    """Eliminate, lines 10 to 14: arm j goes if some other candidate i has l_i >= u_j.

    It is enough to compare with the leader, the candidate with the highest lower bound (of
    several, the one with the highest upper bound, then the first): what any other arm removes
    the leader removes, and the leader itself stays.

    Parameters
    ----------
    lower, upper : ndarray of float, shape (n_arms,)
    candidates : ndarray of bool, shape (n_arms,)
    strict : bool
        Compare with ``l_i > u_j``.

    Returns
    -------
    ndarray of bool, shape (n_arms,)
    """
    highest = np.where(candidates, lower, -np.inf).max()
    leaders = candidates & (lower == highest)
    leader = np.where(leaders, upper, -np.inf).argmax()
    keep: Bools = upper >= highest if strict else upper > highest
    keep[leader] = True
    return candidates & keep


_LEAST_GROWTH = 1e-15
"""A growth rate below it never reaches 1."""


def growing_total(y: float, omega: float, steps: float) -> float:
    """Return the sum over s = 1..steps of min(1, y + ω s), in closed form."""
    rising = math.floor(max(1 - y, 0.0) / max(omega, _LEAST_GROWTH))
    s = min(rising, steps)
    return s * y + omega * s * (s + 1) / 2 + (steps - s)


@dataclass(frozen=True, kw_only=True)
class GrowthBased(ArmPolicy):
    """Settings of all policies that extrapolate an arm's growth rate.

    Parameters
    ----------
    C : int
        The growth rate is the mean of an arm's last C steps (equation 10); 1 is the strict rate
        of equation 9.
    differences : {"paper", "authors"}
        The authors' code divides y(n) - y(n - C + 1), which is C - 1 steps, by C.
    strict : bool
        Eliminate on ``l > u`` (the authors' code) instead of ``l >= u`` (the paper).
    """

    C: Annotated[int, Field(ge=1)] = 7
    differences: Literal["paper", "authors"] = "paper"
    strict: bool = False


class RisingPolicy(Policy):
    """Algorithm 1, one pull at a time; the numbers are its lines."""

    initial_round = False

    def _begin(self) -> None:  # line 1: all arms are candidates, t = 0
        self.steps = self.settings.C - (self.settings.differences == "authors")
        n_arms = self.problem.n_arms
        self.lower: Floats = np.zeros(n_arms)
        self.upper: Floats = np.ones(n_arms)
        self._waiting: Bools = self.candidates.copy()
        self._history: list[list[float]] = [[0.0] for _ in range(n_arms)]  # y(0), y(1), ...

    def bounds(self) -> tuple[Floats, Floats]:
        """Return each arm's best reward so far and its extrapolation."""
        return self.lower, self.upper

    def _choose(self) -> int:
        return int(self._waiting.argmax())  # line 3

    def _learn(self, arm: int, reward: float, cost: float) -> None:
        n, y = int(self.pulls[arm]), float(self.best[arm])
        self._history[arm].append(y)
        before = self._history[arm][max(n - self.steps, 0)]
        omega = growth_rate(y, before, self.settings.C)  # line 6
        known = n > self.steps
        self.lower[arm], self.upper[arm] = self._bounds_of(arm, y, omega, known)  # 7, 8
        self._finish(arm)

    def retire(self, arm: int, why: str) -> None:
        """Retire as every policy; if the arm was the last of its round, the round is over."""
        super().retire(arm, why)
        self._finish(arm)

    def _finish(self, arm: int) -> None:
        """Take `arm` from those that wait; eliminate if the round is over."""
        self._waiting[arm] = False
        if self._round_is_over():  # line 9
            strict = self.settings.strict
            self.candidates = survivors(self.lower, self.upper, self.candidates, strict=strict)
            self._waiting = self.candidates.copy()  # lines 10 to 14

    def _round_is_over(self) -> bool:
        return not self._waiting.any()

    def _bounds_of(self, arm: int, y: float, omega: float, known: bool) -> tuple[float, float]:
        upper = upper_bound(y, omega, self._steps_left(arm))
        return y, upper if known else max(y, 1.0)

    def _steps_left(self, arm: int) -> float:
        return self.problem.budget - self.t


@dataclass(frozen=True, kw_only=True)
class RisingBandits(GrowthBased):
    """Rising Bandits: eliminate the arms whose growth cannot catch up any more (AAAI 2020).

    Notes
    -----
    Departs from the paper: an arm with fewer than C + 1 pulls has u = 1, because equation 10
    needs y(n - C). The paper does not say what it does there; the authors' code does this.
    Departs from the paper: two arms that tie exactly never eliminate each other, because an
    arm that has been removed removes no other.
    """

    units: ClassVar[tuple[Unit, ...]] = ("trials",)

    state: ClassVar[type[Policy]] = RisingPolicy


class CostAwarePolicy(RisingPolicy):
    """Equation 16: how many trials of this arm the time left would pay for."""

    def _choose(self) -> int:
        if self.settings.turns == "pulls":
            return super()._choose()
        waiting = int((self.candidates & (self.pulls == 0)).sum())
        if waiting:
            best = int(np.where(self.candidates, self.best, -np.inf).argmax())
            left = self.problem.budget - self.costs.sum()
            again = self.pulls[best] == 1 and self.best[best] > 0
            again = again and self.costs[best] * (waiting + 1) <= left
            return best if again else super()._choose()
        after_one_more = self.costs + self.costs / np.maximum(self.pulls, 1)
        return int(np.where(self.candidates, after_one_more, np.inf).argmin())

    def _round_is_over(self) -> bool:
        pulled = (self.pulls > 0) | ~self.candidates
        each_once = self.settings.turns == "seconds" and bool(pulled.all())
        return each_once or super()._round_is_over()

    def _steps_left(self, arm: int) -> float:
        """Return B' / c_k of equation 16: the time left over the mean cost of the arm's trials."""
        c = float(self.costs[arm] / self.pulls[arm])
        left = float(self.problem.budget - self.costs.sum())
        return self.settings.look_ahead * max(left, 0.0) / max(c, _LEAST_COST)


@dataclass(frozen=True, kw_only=True)
class RisingBanditsCost(GrowthBased):
    """Rising Bandits under a budget in seconds: the cost of an arm's trials counts (AAAI 2020).

    Under a budget in trials, every trial costs one, and this is Rising Bandits itself.

    Parameters
    ----------
    look_ahead : float
        The share of the trials still affordable that the bound looks ahead: 1 in the paper's
        equation 16; the authors' code takes 0.5.
    turns : {"pulls", "seconds"}
        Which of the candidates pulls next: each pulls once a round (the paper), or, after the
        first round, the one that would have used the least of the budget after one more trial. In
        the first round the best arm so far then gets its second trial before the arms that wait,
        if it costs no more than their equal share of what is left.

    Notes
    -----
    Departs from the paper with ``turns="seconds"``: rounds give an arm whose trials take a hundred
    times as long as another's a hundred times its budget, however low its bound. With equal shares
    arms are compared after every pull, as soon as each was pulled once.
    """

    look_ahead: Annotated[float, Field(gt=0, le=1)] = 1.0
    turns: Literal["pulls", "seconds"] = "pulls"

    state: ClassVar[type[Policy]] = CostAwarePolicy


class _HeidariPolicy(RisingPolicy):
    """Policy whose bounds are totals over T, so that they are rewards of a mean pull."""

    def _begin(self) -> None:
        super()._begin()
        self._past: Floats = np.zeros(self.problem.n_arms)

    def _bounds_of(self, arm: int, y: float, omega: float, known: bool) -> tuple[float, float]:
        self._past[arm] += y
        T, left = self.problem.budget, self._steps_left(arm)
        optimistic = growing_total(y, omega, left) if known else left
        q = self._past[arm] + left * y
        p = self._past[arm] + optimistic
        return q / T, max(p, q) / T


@dataclass(frozen=True, kw_only=True)
class Heidari(GrowthBased):
    """Improving bandits: eliminate by the sum of an arm's rewards, not by the last one.

    Hoda Heidari, Michael Kearns, Aaron Roth. "Tight Policy Regret Bounds for Improving and
    Decaying Bandits". IJCAI 2016. A baseline of Rising Bandits.

    An arm's optimistic total p is its past rewards plus the future ones if it kept growing at
    its growth rate; its pessimistic total q is the same if it stopped growing. Arm i goes when
    p_i < q_j for some arm j.

    Notes
    -----
    Departs from the paper: the growth rate is smoothed over C steps, as Rising Bandits' is and
    as in that paper's code, because a validation accuracy does not rise concavely.
    """

    units: ClassVar[tuple[Unit, ...]] = ("trials",)

    strict: bool = True

    state: ClassVar[type[Policy]] = _HeidariPolicy
