"""How often the intervals of a run, and its answer, break their promise: by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from algorithms.abc_selection.bounds import Estimator, Kind
from algorithms.abc_selection.selection import ABC
from algorithms.abc_selection.simulation import NEAR_TIES, SimulatedLearners
from algorithms.base import play
from algorithms.benches.samples import SamplesBench, geometric_sizes


@dataclass(frozen=True, slots=True)
class Coverage:
    """Broken promises among simulated runs.

    Attributes
    ----------
    delta : float
        The probability with which a run's promise may be broken.
    runs : int
    missed : int
        Runs in which any interval, of any configuration and sample size, misses the truth.
    lost : int
        Runs in which ABC lost more than epsilon.
    """

    delta: float
    runs: int
    missed: int
    lost: int

    @property
    def allowed(self) -> float:
        """The most runs, within two standard deviations of chance, that may break theirs."""
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
    """Count broken promises where the assumptions of ABC hold with equality.

    That is the hardest case: the bounds have no slack but their own.

    Parameters
    ----------
    kind : {"exact", "serfling", "paper"}
        Of intervals, see `algorithms.abc_selection.bounds`.
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
    >>> found = simulate("exact", delta=0.5, runs=20)
    >>> found.missed <= found.allowed, found.lost <= found.allowed
    (True, True)
    """
    algorithm = ABC(bounds=kind, delta=delta, epsilon=epsilon)
    sizes = geometric_sizes(initial_rows, train_rows)[:-1]
    estimator = Estimator(kind=kind, n=len(accuracies), m=len(sizes), t=test_rows, delta=delta)
    missed = lost = 0
    for seed in range(runs):
        learners = SimulatedLearners(accuracies, train_rows, test_rows, seed)
        real = [learners.real_accuracy(index) for index in range(len(accuracies))]
        bench = SamplesBench(learners, initial_rows=initial_rows)
        missed += any(
            not lower <= truth <= upper
            for index, truth in enumerate(real)
            for lower, upper in (
                estimator(learners.measure(index, s, bench.tested_on(s))) for s in sizes
            )
        )
        for _ in play("abc", algorithm, bench, seed):
            pass
        lost += max(real) - bench.score().value > epsilon + 1e-12
    return Coverage(delta, runs, missed, lost)
