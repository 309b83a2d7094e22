"""Policies over the learners of LCDB: regret over time on learning curves that others recorded.

``python -m benchmarks.learning_curves FILE [--budget N] [--policies NAME...]`` reads the table
``database-accuracy.csv`` of the package `lcdb` (Mohr et al. 2022, MIT licence: ``pip download
--no-deps lcdb``). An arm is one of twenty learners of scikit-learn, its pull number k the
validation accuracy on its k-th sample size, and the last one again beyond its curve. A learner
without a curve fails. A repetition is one outer split, with the arms in an order of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.policies.policy import ArmPolicy, Floats, Problem
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.score.regret import Where, regrets

POLICIES = ("posterior-max", "max-ucb", "ps-max", "random-arm", "er-ucb-auto", "ucb",
            "rising-bandits", "heidari")  # fmt: skip
COLUMNS = ["openmlid", "outer_seed", "inner_seed", "learner", "size_train", "score_valid"]
LEAST_SHARE = 0.8
"""Of the learners, which a repetition must have curves of."""


def curves_of(frame: pd.DataFrame, budget: int) -> tuple[list[Where], Floats]:
    """Return the repetitions, and the reward of every pull of every arm, NaN where it fails.

    Shape (n_repetitions, n_arms, budget).
    """
    frame = frame[frame["inner_seed"] == frame["inner_seed"].min()].dropna(subset="score_valid")
    learners = sorted(frame["learner"].unique())
    places, rewards = [], []
    for (data, seed), part in frame.groupby(["openmlid", "outer_seed"]):
        if part["learner"].nunique() < LEAST_SHARE * len(learners):
            continue
        found = np.full((len(learners), budget), np.nan)
        order = generator(int(seed), "arms", int(data)).permutation(len(learners))
        for name, curve in part.sort_values("size_train").groupby("learner")["score_valid"]:
            values = curve.to_numpy()[:budget]
            row = found[order[learners.index(str(name))]]
            row[: len(values)], row[len(values) :] = values, values[-1]
        places.append((str(data), int(seed)))
        rewards.append(found)
    if not rewards:
        raise UsageError("the table has no repetition with enough learners: give LCDB's")
    return places, np.array(rewards)


def best_so_far(name: str, rewards: Floats) -> Floats:
    """Return the best reward after each pull of a policy, shape (n_repetitions, budget)."""
    algorithm = registry.build(name)
    repeats, n_arms, budget = rewards.shape
    if not isinstance(algorithm, ArmPolicy):
        raise UsageError(f"{name} decides over no arms: name a policy")
    policy = algorithm.start(Problem(n_arms, budget, repeats=repeats), 0)
    runs, one = np.arange(repeats), np.ones(repeats)
    found = np.empty((repeats, budget))
    for pull in range(budget):
        arm = policy.select()
        reward = rewards[runs, arm, policy.pulls[runs, arm]]
        failure = np.where(np.isnan(reward), "no curve", "").astype(object)
        found[:, pull] = reward = np.nan_to_num(reward)
        policy.update(arm, reward, one, failure)
    return np.maximum.accumulate(found, axis=1)


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="Policies on LCDB's learning curves")
    parser.add_argument("file", type=Path)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    given = parser.parse_args(arguments)
    places, rewards = curves_of(pd.read_csv(given.file, usecols=COLUMNS), given.budget)
    runs: dict[Where, dict[str, Floats]] = {place: {} for place in places}
    for name in given.policies:
        for place, curve in zip(places, best_so_far(name, rewards), strict=True):
            runs[place][name] = curve
    found = regrets(runs)
    out(f"{len(places)} repetitions of {len({data for data, _ in places})} datasets,"
        f" {rewards.shape[1]} arms, {given.budget} pulls; regret in hundredths")  # fmt: skip
    out(f"{'policy':16} regret [95 %]          times the first     rank [95 %]")
    for name, row in found.iterrows():
        regret, times, rank = row["regret"].times(100), row["times"], row["rank"]
        out(f"{name:16} {regret.value:6.3f} [{regret.lower:.3f}, {regret.upper:.3f}]"
            f"  {times.value:5.2f} [{times.lower:.2f}, {times.upper:.2f}]"
            f"  {rank.value:5.2f} [{rank.lower:.2f}, {rank.upper:.2f}]")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
