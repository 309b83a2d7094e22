"""Synthetic arms, and many runs of a policy on them side by side.

A simulation plays `repeats` independent runs at once: the state of a policy has the runs as its
first axis, so the code that decides is the code that decides in a job.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from algorithms.benches.pulls import Trial
from algorithms.errors import UsageError
from algorithms.policies.policy import ArmPolicy, Floats, Ints, Problem
from algorithms.seeds import generator


class Arms(ABC):
    """K arms whose feedbacks are drawn from known distributions."""

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """K."""

    @abstractmethod
    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The feedback of pull number `n`, from 1, of `arm`; element by element."""


@dataclass(frozen=True, slots=True)
class GaussianArms(Arms):
    """Arms with normally distributed feedbacks that do not depend on the number of the pull.

    Attributes
    ----------
    means, sds : tuple of float, length n_arms
    """

    means: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.means)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """N(mean, sd²) of each arm."""
        return rng.normal(np.asarray(self.means)[arm], np.asarray(self.sds)[arm], np.shape(n))


SEVEN_GAUSSIANS = GaussianArms(
    means=(0.84, 0.84, 0.85, 0.85, 0.88, 0.88, 0.89),
    sds=(0.07, 0.01, 0.04, 0.02, 0.01, 0.02, 0.01),
)
"""Section 4.1 of the ER-UCB paper; arm 1 (here 0) has the largest extreme region."""


@dataclass(frozen=True, slots=True)
class RisingArms(Arms):
    """Arms whose feedbacks rise with the pulls, as an optimiser's trials do.

    The feedback of pull n is ``limit - drop / n**rate - noise |z|`` with z ~ N(0, 1). Without
    noise the curve is increasing, bounded and concave: Assumption 1 of Rising Bandits.

    Attributes
    ----------
    limits, drops, rates : tuple of float, length n_arms
    noise : float
    """

    limits: tuple[float, ...]
    drops: tuple[float, ...]
    rates: tuple[float, ...]
    noise: float = 0.0

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.limits)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The curve less its noise."""
        limit, drop, rate = (np.asarray(v)[arm] for v in (self.limits, self.drops, self.rates))
        curve = rising_curve(n, limit, drop, rate)
        return curve - self.noise * np.abs(rng.standard_normal(np.shape(n)))


FOUR_RISING = RisingArms(
    limits=(0.9, 0.85, 0.8, 0.88), drops=(0.4, 0.25, 0.1, 0.6), rates=(0.5, 1.0, 1.0, 0.5)
)
"""Two arms that rise for long, one that ends lower, and one that stops early."""


def rising_curve(n: Ints, limit: Floats, drop: Floats, rate: Floats) -> Floats:
    """The curve limit - drop / n^rate."""
    return np.asarray(limit - drop / n**rate, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Simulation:
    """What `repeats` runs came to.

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
        """R_i, the share of a run's pulls that each arm got, shape (repeats, n_arms)."""
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
        feedback = arms.draw(arm, policy.pulls[runs, arm] + 1, rng)
        better = feedback > best
        best[better], best_arm[better] = feedback[better], arm[better]
        policy.update(arm, feedback, one)
        curve[pull] = best.mean()
    return Simulation(best, best_arm, policy.pulls, curve)


class SyntheticTrials:
    """Synthetic arms as the trials of one run: trial n of an arm is a fixed draw.

    Parameters
    ----------
    arms : Arms
    seed : int
        Of the draws.
    """

    def __init__(self, arms: Arms, seed: int) -> None:
        self._arms = arms
        self._seed = seed
        self._joint_arms: dict[int, int] = {}
        self._rngs = [generator(seed, "synthetic arm", arm) for arm in range(arms.n_arms)]
        self._drawn: list[list[float]] = [[] for _ in range(arms.n_arms)]
        self.arms = tuple(f"arm{arm + 1}" for arm in range(arms.n_arms))
        self.tunable = (True,) * arms.n_arms
        self.spent_cpu_seconds = 0.0

    def trial(self, arm: int, n: int) -> Trial:
        """Draw number `n` of `arm`; free of cost."""
        drawn = self._drawn[arm]
        while len(drawn) <= n:
            one = self._arms.draw(np.array([arm]), np.array([len(drawn) + 1]), self._rngs[arm])
            drawn.append(float(one[0]))
        return Trial(arm, {"pull": n + 1}, drawn[n], None, 0.0, 0.0)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """Random search draws an arm; other optimisers have nothing to optimise: UsageError."""
        if optimiser != "random":
            raise UsageError(f"synthetic arms have no hyperparameters: {optimiser} cannot run")
        arm = int(generator(self._seed, "synthetic joint", n).integers(len(self.arms)))
        self._joint_arms[n] = arm
        before = sum(self._joint_arms[past] == arm for past in range(n))
        return self.trial(arm, before)
