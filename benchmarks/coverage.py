"""Violations of the guarantees of ABC's intervals, and of its answers: by simulation.

``python -m benchmarks.coverage [--runs N]`` prints a line for every kind of interval and delta,
and exits with 1 if any guarantee is broken more often than chance explains.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaseboard.algorithms.abc_selection.bounds import KINDS, Estimator, Kind
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment, geometric_sizes
from leaseboard.tasks.fetch.synthetic import NEAR_TIES
from tests.selections import SimulatedLearners

DELTAS = (0.5, 0.05)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Broken guarantees among simulated runs.

    Attributes
    ----------
    delta : float
        The probability with which a run's guarantee may be broken.
    runs : int
    missed : int
        Runs in which an interval misses the truth: any of any configuration and sample size; with
        ``best`` any lower bound, and any upper bound of the best configuration.
    lost : int
        Runs in which ABC lost more than epsilon.
    """

    delta: float
    runs: int
    missed: int
    lost: int

    @property
    def allowed(self) -> float:
        """Return the most runs, within two standard deviations, that may break theirs."""
        expected = self.runs * self.delta
        return expected + 2 * math.sqrt(expected * (1 - self.delta))


def simulate(
    kind: Kind,
    delta: float,
    runs: int,
    *,
    accuracies: Sequence[float] = NEAR_TIES,
    epsilon: float = 0.01,
    train_rows: int = 2000,
    test_rows: int = 500,
    initial_rows: int = 50,
) -> Coverage:
    """Count broken guarantees where the assumptions of ABC hold with equality.

    That is the hardest case: the bounds have no slack but their own.

    Parameters
    ----------
    kind : {"best", "paper"}
        Of intervals, see `leaseboard.algorithms.abc_selection.bounds`.
    delta : float
    runs : int
        Independent splits, seeded 0 to ``runs - 1``.
    accuracies : sequence of float
        Of the configurations on all rows.
    epsilon : float
        Accuracy that may be lost.
    train_rows, test_rows, initial_rows : int
        |D_tr|, |D_te| and s_0.

    Examples
    --------
    >>> found = simulate("best", delta=0.5, runs=20)
    >>> found.missed <= found.allowed, found.lost <= found.allowed
    (True, True)
    """
    algorithm = ABC(bounds=kind, delta=delta, epsilon=epsilon)
    sizes = geometric_sizes(initial_rows, train_rows)[:-1]
    estimator = Estimator(
        kind=kind, n=len(accuracies), m=len(sizes), train_rows=train_rows, t=test_rows, delta=delta
    )
    missed = lost = 0
    for seed in range(runs):
        learners = SimulatedLearners(accuracies, train_rows, test_rows, seed)
        real = [learners.real_accuracy(index) for index in range(len(accuracies))]
        env = SamplesEnvironment(learners, initial_rows=initial_rows)
        guaranteed = [real.index(max(real))] if kind == "best" else range(len(real))
        missed += any(
            lower > truth or (truth > upper and index in guaranteed)
            for index, truth in enumerate(real)
            for lower, upper in (
                estimator(learners.measure(index, s, min(2 * s, test_rows))) for s in sizes
            )
        )
        for _ in play("abc", algorithm, env, seed):
            pass
        lost += max(real) - env.score().value > epsilon + 1e-12
    return Coverage(delta, runs, missed, lost)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print; return 1 if a guarantee is broken too often."""
    parser = argparse.ArgumentParser(description="Coverage of ABC's intervals by simulation")
    parser.add_argument("--runs", type=int, default=500, help="of each kind (default: 500)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs {options.runs}: give at least 1")
    print("intervals  delta   runs  any interval missed  lost over epsilon  allowed")
    broken = False
    for kind in KINDS:
        for delta in DELTAS:
            found = simulate(kind, delta, options.runs)
            broken |= max(found.missed, found.lost) > found.allowed
            print(
                f"{kind:9} {delta:6.2f} {found.runs:6} {found.missed:20} {found.lost:18}"
                f" {found.allowed:8.1f}",
                flush=True,
            )
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main())
