"""Runs of a policy on synthetic arms, one after the other."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leaseboard.algorithms.policy import ArmPolicy, Floats, Ints, Problem
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.synthetic import SEVEN_DEVIATIONS, SEVEN_MEANS


class Arms(Protocol):
    """K arms whose feedbacks are drawn from known distributions."""

    @property
    def n_arms(self) -> int:
        """Return K."""

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> float:
        """Return the feedback of pull number `n`, from 1, of `arm`."""


@dataclass(frozen=True, slots=True)
class GaussianArms:
    """Arms with normally distributed feedbacks that do not depend on the number of the pull."""

    means: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """Return K."""
        return len(self.means)

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> float:
        """Draw from N(mean, sd²)."""
        return rng.normal(self.means[arm], self.sds[arm])


SEVEN_GAUSSIANS = GaussianArms(SEVEN_MEANS, SEVEN_DEVIATIONS)


@dataclass(frozen=True, slots=True)
class RisingArms:
    """Arms whose feedback of pull n is ``limit - drop / n**rate``."""

    limits: tuple[float, ...]
    drops: tuple[float, ...]
    rates: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """Return K."""
        return len(self.limits)

    def draw(self, arm: int, n: int, rng: np.random.Generator) -> float:
        """Return the curve."""
        return self.limits[arm] - self.drops[arm] / n ** self.rates[arm]


@dataclass(frozen=True, slots=True)
class Simulation:
    """Results of some runs: their best feedbacks, its arms, and the pulls of each arm."""

    best: Floats
    best_arm: Ints
    pulls: Ints

    @property
    def exploitation(self) -> Floats:
        """Return R_i, the share of a run's pulls that each arm got, shape (runs, n_arms)."""
        return np.asarray(self.pulls / self.pulls.sum(axis=1, keepdims=True), dtype=np.float64)


def simulate(algorithm: ArmPolicy, arms: Arms, budget: int, runs: int, seed: int) -> Simulation:
    """Play some runs of `budget` pulls."""
    feedbacks, chosen = np.empty((2, runs, budget))
    pulls = np.empty((runs, arms.n_arms), dtype=np.intp)
    for run in range(runs):
        policy = algorithm.start(Problem(arms.n_arms, budget), 1000 * seed + run)
        rng = generator(1000 * seed + run, "arms")
        for pull in range(budget):
            arm = policy.select()
            drawn = float(arms.draw(arm, int(policy.pulls[arm]) + 1, rng))
            feedbacks[run, pull], chosen[run, pull] = drawn, arm
            policy.update(arm, drawn, 1.0)
        pulls[run] = policy.pulls
    arm = chosen[np.arange(runs), feedbacks.argmax(axis=1)].astype(np.intp)
    return Simulation(feedbacks.max(axis=1), arm, pulls)
