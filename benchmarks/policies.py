"""CPU time of policies over arms: simulated, deciding, and replaying stored trials.

``python -m benchmarks.policies [--repeats N] [--trials N] [--data REFERENCE]`` prints

- every policy on the seven Gaussian arms of the ER-UCB paper, many runs of 1,000 pulls side by
  side, with the paper's figures: the best feedback, the share of arm 1, and in how many runs that
  arm was pulled most;
- what one decision of a single run costs at K = 16;
- what ten policies cost on a dataset: the first with nothing stored, and all with everything
  stored, when trials are replayed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.simulation import SEVEN_GAUSSIANS, simulate
from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import PullsEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.policies.policy import ArmPolicy, Problem
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.job import Job

PULLS = 1000
K = 16
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "c-ucb (20 x mean)": ("c-ucb", {"gamma": 20.0}),
    "epsilon-greedy (on the best)": ("epsilon-greedy", {"value": "best"}),
}
"""Of baselines whose row in the paper's table does not follow from its text."""
TEN = ("rising-bandits", "average", "ucb", "c-ucb", "cmab", "softmax", "epsilon-greedy",
       "max-ucb", "heidari", "er-ucb-auto")  # fmt: skip
DATA = "synthetic:separated?rows=400&classes=3&flip=0.2&seed=0"


@dataclass(frozen=True, slots=True)
class Simulated:
    """One policy's row; `first` is the share of arm 1, `most` that of runs it led."""

    name: str
    cpu_seconds: float
    best: tuple[float, float]
    first: tuple[float, float]
    most: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """CPU seconds of each policy's whole job with all trials stored, and of the first's trials."""

    fresh: float
    replays: dict[str, float]


def simulated(repeats: int, pulls: int = PULLS) -> list[Simulated]:
    """Return every policy, and the other readings."""
    rows = []
    contenders: dict[str, tuple[str, dict[str, Any]]] = {
        entry.name: (entry.name, {}) for entry in registry.ENTRIES
    } | READINGS
    for label, (name, settings) in contenders.items():
        algorithm = registry.build(name, settings)
        if not isinstance(algorithm, ArmPolicy):
            continue
        began = time.process_time()
        found = simulate(algorithm, SEVEN_GAUSSIANS, pulls, repeats, seed=0)
        spent = time.process_time() - began
        share = found.pulls[:, 0] / pulls
        rows.append(
            Simulated(
                label,
                spent,
                (float(found.best.mean()), float(found.best.std())),
                (float(share.mean()), float(share.std())),
                float((found.pulls.argmax(axis=1) == 0).mean()),
            )
        )
    return rows


def decisions(names: Sequence[str], pulls: int = 500) -> dict[str, float]:
    """Return microseconds for choosing one of K = 16 arms and learning what it gave."""
    rewards = generator(0, "rewards").random((pulls, 1))
    cost = np.ones(1)
    found = {}
    for name in names:
        algorithm = registry.build(name)
        if not isinstance(algorithm, ArmPolicy):
            raise UsageError(f"{name} decides over no arms: name a policy")
        problem = Problem(K, float(pulls), tunable=(True,) * K)
        policy = algorithm.policy(problem, generator(0, name))
        began = time.process_time()
        for reward in rewards:
            policy.update(policy.select(), reward, cost)
        found[name] = 1e6 * (time.process_time() - began) / pulls
    return found


def replayed(data: str, trials: int, names: Sequence[str] = TEN) -> Replayed:
    """Run `names` with an empty store, then all of them again."""
    dataset = loading.load(data)

    def run(name: str) -> tuple[float, float]:
        """Return CPU seconds of the job in this process, and of the trials that it had to run."""
        job = Job(name, data, 0, 0, budget=trials, environment={"space": "fast"})
        began = time.process_time()
        env = environments.make("pulls", dataset, job)
        assert isinstance(env, PullsEnvironment)
        for _ in play(name, registry.build(name), env, 0):
            pass
        return time.process_time() - began, env.cost.spent_cpu_seconds or 0.0

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"LEASEBOARD_CACHE": folder}),
    ):
        fresh = [run(name)[1] for name in names]
        return Replayed(fresh[0], {name: run(name)[0] for name in names})


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="CPU time of policies over arms")
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--data", default=DATA)
    given = parser.parse_args(arguments)
    rows = simulated(given.repeats)
    costs = decisions([row.name for row in rows if row.name not in READINGS])
    out(f"{given.repeats} runs of {PULLS} pulls on seven Gaussian arms; a decision at K = {K}")
    out(f"{'':28}  CPU s  us/decision  best           share of arm 1  arm 1 most pulled")
    for row in rows:
        decision = f"{costs[row.name]:11.1f}" if row.name in costs else " " * 11
        out(
            f"{row.name:28} {row.cpu_seconds:6.2f}  {decision}"
            f"  {row.best[0]:.3f} ± {row.best[1]:.3f}"
            f"  {row.first[0]:.3f} ± {row.first[1]:.3f}   {row.most:.1%}"
        )
    out(f"all: {sum(row.cpu_seconds for row in rows):.1f} CPU s")
    replay = replayed(given.data, given.trials)
    out(f"{len(replay.replays)} policies, {given.trials} trials each, on {given.data}")
    out(f"{TEN[0]} with nothing stored: {replay.fresh:.2f} CPU s")
    for name, spent in replay.replays.items():
        out(f"{name:28} {spent:6.3f} CPU s replayed, {spent / replay.fresh:.2%} of that")
    out(f"all replayed: {sum(replay.replays.values()):.2f} CPU s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
