"""Many runs of a policy on synthetic arms, side by side.

`simulate` plays `repeats` independent runs at once: the state of a policy has the runs as its
first axis, so the code that decides is the code that decides in a job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leaseboard.algorithms.benches.pulls import Arms
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.policies.policy import ArmPolicy, Floats, Ints, Problem
from leaseboard.algorithms.seeds import generator


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
        drawn = arms.draw(arm, policy.pulls[runs, arm] + 1, rng)
        failed = np.isnan(drawn)
        feedback = np.where(failed, 0.0, drawn)
        better = drawn > best
        best[better], best_arm[better] = feedback[better], arm[better]
        failure = np.where(failed, "no feedback", "").astype(object) if failed.any() else None
        policy.update(arm, feedback, one, failure)
        curve[pull] = best.mean()
    return Simulation(best, best_arm, policy.pulls, curve)
