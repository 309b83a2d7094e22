"""Improving bandits: the round-robin elimination of Heidari, Kearns and Roth.

Hoda Heidari, Michael Kearns, Aaron Roth. "Tight Policy Regret Bounds for Improving and Decaying
Bandits". IJCAI 2016. A baseline of Rising Bandits.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.benches.pulls import Unit
from leaseboard.algorithms.policies.policy import Bools, Floats, Ints, Policy, Problem
from leaseboard.algorithms.rising_bandits import GrowthBased, RisingPolicy

_LEAST_GROWTH = 1e-15
"""A growth rate below it never reaches 1."""


@dataclass(frozen=True, kw_only=True)
class Heidari(GrowthBased):
    """Improving bandits: eliminate by the sum of an arm's rewards, not by the last one.

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

    def policy(self, problem: Problem, rng: np.random.Generator) -> Policy:
        """The candidates and the bounds of their totals; deterministic."""
        return _HeidariPolicy(problem, self)


class _HeidariPolicy(RisingPolicy):
    """Its bounds are totals over T, so that they are rewards of a mean pull."""

    def __init__(self, problem: Problem, settings: Heidari) -> None:
        super().__init__(problem, settings)
        self._past: Floats = np.zeros(self.best.shape)

    def _bounds_of(
        self, arm: Ints, y: Floats, omega: Floats, known: Bools, cost: Floats
    ) -> tuple[Floats, Floats]:
        at = (self._runs, arm)
        self._past[at] += y
        T, left = self.problem.budget, self._steps_left(arm, cost)
        optimistic = np.where(known, growing_total(y, omega, left), left)
        q = self._past[at] + left * y
        p = self._past[at] + optimistic
        return q / T, np.maximum(p, q) / T


def growing_total(y: Floats, omega: Floats, steps: Floats) -> Floats:
    """The sum over s = 1..steps of min(1, y + ω s), in closed form."""
    rising = np.floor(np.maximum(1 - y, 0.0) / np.maximum(omega, _LEAST_GROWTH))
    s = np.minimum(rising, steps)
    return np.asarray(s * y + omega * s * (s + 1) / 2 + (steps - s), dtype=np.float64)
