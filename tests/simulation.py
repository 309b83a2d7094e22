"""Many runs of a policy on synthetic arms at once.

`simulate` plays `repeats` independent runs at once: the state of a policy has the runs as its
first axis, so the code that decides is the code that decides in a job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.policies.policy import ArmPolicy, Floats, Ints, Problem
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.synthetic import SEVEN_DEVIATIONS, SEVEN_MEANS


class Arms(Protocol):
    """K arms whose feedbacks are drawn from known distributions."""

    @property
    def n_arms(self) -> int:
        """Return K."""

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """Return the feedback of pull number `n`, from 1, of `arm`; NaN where it fails."""


@dataclass(frozen=True, slots=True)
class GaussianArms:
    """Arms with normally distributed feedbacks that do not depend on the number of the pull."""

    means: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """Return K."""
        return len(self.means)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """Draw from N(mean, sd²) of each arm."""
        return rng.normal(np.asarray(self.means)[arm], np.asarray(self.sds)[arm], np.shape(n))


SEVEN_GAUSSIANS = GaussianArms(SEVEN_MEANS, SEVEN_DEVIATIONS)


@dataclass(frozen=True, slots=True)
class RisingArms:
    """Arms whose feedback of pull n is ``limit - drop / n**rate - noise |z|`` with z ~ N(0, 1)."""

    limits: tuple[float, ...]
    drops: tuple[float, ...]
    rates: tuple[float, ...]
    noise: float = 0.0

    @property
    def n_arms(self) -> int:
        """Return K."""
        return len(self.limits)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """Draw the curve less its noise."""
        limit, drop, rate = (np.asarray(v)[arm] for v in (self.limits, self.drops, self.rates))
        noise = self.noise * np.abs(rng.standard_normal(np.shape(n)))
        return np.asarray(limit - drop / n**rate - noise, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Results of `repeats` runs.

    Attributes
    ----------
    best : ndarray of float, shape (repeats,)
        The best feedback of each run, the paper's X*.
    best_arm : ndarray of int, shape (repeats,)
        The arm it came from.
    pulls : ndarray of int, shape (repeats, n_arms)
    curve : ndarray of float, shape (budget,)
        The mean of the best feedback after each pull.
    """

    best: Floats
    best_arm: Ints
    pulls: Ints
    curve: Floats

    @property
    def exploitation(self) -> Floats:
        """Return R_i, the share of a run's pulls that each arm got, shape (repeats, n_arms)."""
        return np.asarray(self.pulls / self.pulls.sum(axis=1, keepdims=True), dtype=np.float64)


def simulate(algorithm: ArmPolicy, arms: Arms, budget: int, repeats: int, seed: int) -> Simulation:
    """Play `repeats` runs of `budget` pulls side by side."""
    if repeats < 1:
        raise UsageError(f"{repeats} repeats: at least one run is needed")
    policy = algorithm.start(Problem(arms.n_arms, budget, repeats=repeats), seed)
    rng = generator(seed, "arms")
    runs = np.arange(repeats)
    best = np.full(repeats, -np.inf)
    best_arm = np.zeros(repeats, dtype=np.intp)
    curve = np.empty(budget)
    one = np.ones(repeats)
    for pull in range(budget):
        arm = policy.select()
        drawn = arms.draw(arm, policy.pulls[runs, arm] + 1, rng)
        failed = np.isnan(drawn)
        feedback = np.where(failed, 0.0, drawn)
        better = drawn > best
        best[better], best_arm[better] = feedback[better], arm[better]
        failure = np.where(failed, "no feedback", "").astype(object) if failed.any() else None
        policy.update(arm, feedback, one, failure)
        curve[pull] = best.mean()
    return Simulation(best, best_arm, policy.pulls, curve)
