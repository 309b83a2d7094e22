"""ABC's guarantee with ordinary pipelines, some of which are not fit on samples.

``python -m benchmarks.fitness --mirror DIR [--store FILE]`` draws rows of large tables by seed and
lets ABC choose among pipelines whose regularisers count rows, steps or neighbours, so that they
fit a sample worse than all rows. It prints a line for every table: in how many runs the loss was
above epsilon, how many times faster than Full-run the choice was, how many pipelines were warned
of, and the CPU seconds of the selections with one full training of each choice.

``--pipelines adversarial`` draws pipelines too, one or two of which get worse with rows, and gives
the tables a heavy-tailed feature.

A fit is recorded in the store with its hits on the halves of its sample and on many test samples,
so that a run that was broken off goes on, and another epsilon, delta or kind of interval is
replayed. Nothing of ABC's code is part of a record's key.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import threadpoolctl

from benchmarks.fitness_pipelines import SETS
from leaseboard.algorithms.abc_selection.bounds import KINDS
from leaseboard.algorithms.abc_selection.fitness import FitnessWarning
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import Probes, SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate.learners.pipelines import Pipelines, named
from leaseboard.tasks.evaluate.probes.recorded import able
from leaseboard.tasks.evaluate.probes.sample_rows import labels_of
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder
from leaseboard.tasks.store.recorded import Store

TABLES = {
    "flights": "mirror:flights_3m?threshold=15",
    "covertype": "mirror:covtype",
    "census income": "mirror:census_income",
    "pwlinear": "mirror:1203?threshold=0",
    "fried": "synthetic:fried?rows=200000&threshold=14.4&seed=0",
}
SLICES = "slices"
"""A table made here: the class is a few slices of 7 % of the rows and one of 3 %, which no leaf of
a hundred rows can cut out of a sample of a thousand."""
NORMALS = "normals"
"""A table made here: two features that are normally distributed around the class."""
TEST_FRACTION = 0.2


@dataclass(frozen=True, slots=True)
class WholeTable:
    """A whole table as numbers, from which every seed draws its rows."""

    name: str
    features: Any
    labels: Any


def load(name: str, mirrors: Sequence[Path]) -> WholeTable:
    """Return a table by its name here."""
    if name == SLICES:
        rng = generator("fitness", SLICES)
        features = rng.uniform(0, 1, (200_000, 7)).astype(np.float32)
        labels = (features[:, :6] < 0.07).any(axis=1) | (features[:, 6] < 0.03)
        return WholeTable(name, features, labels.astype(np.int32))
    if name == NORMALS:
        rng = generator("fitness", NORMALS)
        labels = rng.integers(0, 2, 200_000).astype(np.int32)
        around = rng.normal(1.8 * labels[:, None] - 0.9, 1, (len(labels), 2))
        return WholeTable(name, around.astype(np.float32), labels)
    dataset = loading.load(TABLES[name], mirrors=tuple(mirrors))
    return WholeTable(name, UnitRangeEncoder().fit_transform(dataset.features), labels_of(dataset))


def with_heavy_tail(table: WholeTable) -> WholeTable:
    """Return the table with one more feature, whose variance has no limit in the first class."""
    rng = generator("fitness", "heavy tail", table.name)
    rows = len(table.labels)
    heavy = np.where(table.labels == 0, rng.standard_t(1.0, rows), rng.normal(size=rows))
    features = np.column_stack([table.features, 0.15 * heavy]).astype(np.float32)
    return WholeTable(f"{table.name}, heavy tail", features, table.labels)


class Recorded(Probes):
    """Probes of a samples environment: rows of a table by seed, and fits that are cached."""

    def __init__(
        self, table: WholeTable, pipelines: Pipelines, rows: int, seed: int, store: Store
    ) -> None:
        self.configurations = pipelines.configurations()
        self._table, self._pipelines, self._seed, self._store = table, pipelines, seed, store
        rows = min(rows, len(table.labels))
        self.test_rows = round(rows * TEST_FRACTION)
        self.train_rows = rows - self.test_rows
        self._fits: dict[tuple[int, int], Mapping[str, Any]] = {}

    @cached_property
    def _order(self) -> Any:
        order = generator(self._seed, "fitness", self._table.name).permutation(
            len(self._table.labels)
        )
        return order[: self.train_rows + self.test_rows]

    @cached_property
    def _labels(self) -> Any:
        return self._table.labels[self._order]

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Measure the hits of the recorded fit, or of a new one; time by the rows tested."""
        fit = self._fit(configuration, rows)
        full = rows == self.train_rows
        tested = fit["test_cpu"] * test_rows / self.test_rows
        return Probe(
            rows=rows,
            test_rows=test_rows,
            train_correct=None if full else fit["train"][str(rows)],
            half_correct=None if full else fit["train"][str(rows // 2)],
            common=None if full else int(np.bincount(self._labels[:rows]).max()),
            test_correct=fit["test"][str(test_rows)],
            half_test_correct=fit["test"].get(str(test_rows // 2)),
            fit_cpu=fit["fit_cpu"],
            fit_wall=fit["fit_wall"],
            train_cpu=fit["train_cpu"],
            train_wall=fit["train_cpu"],
            test_cpu=tested,
            test_wall=tested,
        )

    def _fit(self, configuration: int, rows: int) -> Mapping[str, Any]:
        asked = configuration, rows
        if asked not in self._fits:
            key = {
                "benchmark": "fitness",
                "libraries": [metadata.version(n) for n in ("scikit-learn", "lightgbm")],
                "table": self._table.name,
                "rows of the table": self.train_rows + self.test_rows,
                "seed": self._seed,
                "configuration": self.configurations[configuration],
                "rows": rows,
            }
            records = self._store.records(key)
            records.refresh()
            if not len(records):
                records.extend(lambda _: self._run(configuration, rows))
            self._fits[asked] = records[0]
        return self._fits[asked]

    def _run(self, configuration: int, rows: int) -> dict[str, Any]:
        train, test = self._order[:rows], self._order[self.train_rows :]
        features, labels = self._table.features[train], self._table.labels[train]
        model = able(self._pipelines.build(self.configurations[configuration]), labels)
        with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cpu, wall = process_time(), perf_counter()
            model.fit(features, labels)
            fitted = {"fit_cpu": process_time() - cpu, "fit_wall": perf_counter() - wall}
            cpu, hits = process_time(), np.zeros(0, dtype=bool)
            if rows < self.train_rows:
                hits = model.predict(features) == labels
            train_cpu, cpu = process_time() - cpu, process_time()
            right = model.predict(self._table.features[test]) == self._table.labels[test]
            test_cpu = process_time() - cpu
        halves = [rows >> k for k in range(rows.bit_length()) if rows >> k]
        tests = {min(factor * rows, self.test_rows) for factor in (1, 2, 4, 8, 16)}
        return fitted | {
            "train_cpu": train_cpu,
            "test_cpu": test_cpu,
            "train": {str(n): int(hits[:n].sum()) for n in halves},
            "test": {str(n): int(right[:n].sum()) for n in sorted(tests | {self.test_rows})},
        }


@dataclass(frozen=True, slots=True)
class Run:
    """Selection next to Full-run: what it lost and cost, and of how many it warned.

    `seconds` are the CPU seconds of the selection and of the one full training of its choice.
    """

    loss: float
    speedup: float
    unfit: float
    seconds: float = 0.0


def select(environment: Recorded, algorithm: ABC) -> Run:
    """Let ABC choose, and train everyone in full to know what it lost."""
    env = SamplesEnvironment(environment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitnessWarning)
        for _ in play("abc", algorithm, env, seed=0):
            pass
    score = env.score()
    full = [
        environment.measure(index, environment.train_rows, environment.test_rows)
        for index in range(len(environment.configurations))
    ]
    return Run(
        loss=max(probe.test_accuracy for probe in full) - score.value,
        speedup=sum(probe.cpu(train=False) for probe in full) / env.cost.cpu_seconds,
        unfit=score.metrics.get("unfit_configurations", 0.0),
        seconds=env.cost.cpu_seconds + score.metrics["training_cpu_seconds"],
    )


def allowed(runs: int, delta: float) -> float:
    """Return the most runs, within two standard deviations, that may lose more than epsilon."""
    return runs * delta + 2 * math.sqrt(runs * delta * (1 - delta))


def main(arguments: Sequence[str] | None = None) -> int:
    """Select and print; 1 if more runs lose above epsilon than delta allows."""
    tables = (*TABLES, SLICES, NORMALS)
    parser = argparse.ArgumentParser(description="ABC's guarantee with pipelines that are not fit")
    parser.add_argument("tables", nargs="*", default=tables, help=f"of {', '.join(tables)}")
    parser.add_argument("--pipelines", choices=SETS, default="both")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=120_000, help="drawn of each table")
    parser.add_argument("--epsilon", type=float, default=0.01)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--bounds", choices=KINDS, default=ABC.bounds)
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--store", type=Path, help="where fits are kept (default: the cache)")
    given = parser.parse_args(arguments)
    if unknown := set(given.tables) - set(tables):
        parser.error(f"no table {', '.join(unknown)}: give some of {', '.join(tables)}")
    algorithm = ABC(epsilon=given.epsilon, delta=given.delta, bounds=given.bounds)
    store = Store(given.store)
    print(
        "table           runs  above epsilon  most lost  times faster (least)  warned of"
        "  CPU seconds"
    )
    broken = total = 0
    for name in given.tables:
        table = load(name, given.mirror)
        if given.pipelines == "adversarial":
            table = with_heavy_tail(table)
        runs = []
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            pipelines = named(SETS[given.pipelines](f"{name} {seed}"))
            runs.append(select(Recorded(table, pipelines, given.rows, seed, store), algorithm))
        above = sum(run.loss > given.epsilon for run in runs)
        broken, total = broken + above, total + len(runs)
        print(
            f"{name:15} {len(runs):4} {above:14} {max(run.loss for run in runs):10.4f}"
            f" {median(run.speedup for run in runs):12.1f}"
            f" ({min(run.speedup for run in runs):.2f})"
            f" {sum(run.unfit for run in runs) / len(runs):15.1f}"
            f" {sum(run.seconds for run in runs):12.1f}",
            flush=True,
        )
    print(
        f"{broken} of {total} runs above epsilon; delta allows {allowed(total, given.delta):.1f}"
    )
    return int(broken > allowed(total, given.delta))


if __name__ == "__main__":
    raise SystemExit(main())
