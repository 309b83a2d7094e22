"""Whether ABC keeps its promise with ordinary pipelines, some of which are not fit on samples.

``python -m benchmarks.fitness --mirror DIR [--store FILE]`` draws rows of large tables by seed and
lets ABC choose among pipelines whose regularisers count rows, steps or neighbours, so that they
fit a sample worse than all rows. It prints a line for every table: in how many runs the loss was
above epsilon, how many times faster than Full-run the choice was, and how many pipelines were
warned of.

A fit is recorded in the store with its hits on the halves of its sample and on many test samples,
so that a run that was broken off goes on, and another epsilon, delta or kind of interval is
replayed. Nothing of ABC's code is part of a record's key.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import threadpoolctl
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from algorithms.abc_selection.bounds import KINDS
from algorithms.abc_selection.fitness import FitnessWarning
from algorithms.abc_selection.selection import ABC
from algorithms.base import play
from algorithms.benches.samples import Probe, SamplesBench
from algorithms.seeds import generator
from tasks import fetch
from tasks.evaluate.learners.pipelines import Pipelines, named
from tasks.evaluate.probes.fitting import able
from tasks.evaluate.probes.sampled import labels_of
from tasks.evaluate.store import Store
from tasks.preprocess.unit_range import UnitRangeEncoder

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


def ordinary() -> dict[str, Any]:
    """Five pipelines that anybody would try."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    return {
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=200),
        "tree of depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
        "tree, leaves of 100": DecisionTreeClassifier(min_samples_leaf=100, random_state=0),
        "majority": DummyClassifier(),
    }


def counting() -> dict[str, Any]:
    """Ten whose regularisers count rows, steps or neighbours."""
    from lightgbm import LGBMClassifier
    from sklearn.decomposition import PCA
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import SGDClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    def boosted(rows: int) -> Any:
        return LGBMClassifier(
            n_estimators=30, min_child_samples=rows, n_jobs=1, random_state=0, verbose=-1
        )

    def neighbours(k: int) -> Any:
        return make_pipeline(PCA(5, random_state=0), KNeighborsClassifier(k))

    return {
        "LightGBM, leaves of 200": boosted(200),
        "LightGBM, leaves of 1000": boosted(1000),
        "histograms, leaves of 500": HistGradientBoostingClassifier(
            max_iter=20, min_samples_leaf=500, early_stopping=False, random_state=0
        ),
        "forest, leaves of 50": RandomForestClassifier(
            10, min_samples_leaf=50, random_state=0, n_jobs=1
        ),
        "tree, leaves of 1000": DecisionTreeClassifier(min_samples_leaf=1000, random_state=0),
        "SGD, 1 epoch": SGDClassifier(max_iter=1, tol=None, random_state=0),
        "SGD, 5 epochs": SGDClassifier(max_iter=5, tol=None, random_state=0),
        "network, 3 epochs": MLPClassifier((16,), max_iter=3, random_state=0),
        "5 neighbours": neighbours(5),
        "101 neighbours": neighbours(101),
    }


class Fading(ClassifierMixin, BaseEstimator):
    """A tree that repeats a wrong class in a share of the rows, which its training rows set.

    Parameters
    ----------
    lost : tuple of float
        The share at 500 rows, and after every two doublings more.
    depth : int
    """

    def __init__(self, lost: tuple[float, ...] = (0.0, 0.1), depth: int = 6) -> None:
        self.lost = lost
        self.depth = depth

    def fit(self, X: Any, y: Any) -> Fading:
        """Fit the tree, and set the share by the number of rows."""
        self.tree_ = DecisionTreeClassifier(max_depth=self.depth, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        steps = np.arange(len(self.lost))
        self.lost_ = float(np.interp(math.log2(len(y) / 500) / 2, steps, self.lost))
        return self

    def predict(self, X: Any) -> Any:
        """Return the classes of the tree, of some rows the next one."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        hashed = (X.view(np.uint32).sum(axis=1, dtype=np.uint64) * 2654435761) % 1000
        wrong = hashed < 1000 * self.lost_
        codes = np.searchsorted(self.classes_, self.tree_.predict(X)) + wrong
        return self.classes_[codes % len(self.classes_)]


def worse_with_rows() -> dict[str, Any]:
    """Return pipelines that lose accuracy with rows on tables with a heavy-tailed feature."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

    def bins(count: int, *after: Any) -> Any:
        made = KBinsDiscretizer(count, strategy="uniform", encode="ordinal", subsample=None)
        return make_pipeline(made, *after)

    def steps(rate: float, **settings: Any) -> Any:
        return SGDClassifier(
            learning_rate="constant", eta0=rate, max_iter=1, tol=None, random_state=0, **settings
        )

    def network(rate: float, epochs: int) -> Any:
        made = MLPClassifier((8,), learning_rate_init=rate, max_iter=epochs, random_state=0)
        return make_pipeline(StandardScaler(), made)

    return {
        "naive Bayes": GaussianNB(),
        "naive Bayes, scaled": make_pipeline(StandardScaler(), GaussianNB()),
        "naive Bayes, smoothed": GaussianNB(var_smoothing=1e-3),
        "naive Bayes of components": make_pipeline(
            StandardScaler(), PCA(3, random_state=0), GaussianNB()
        ),
        "naive Bayes of bins": bins(50, CategoricalNB(min_categories=50)),
        "tree of bins": bins(20, DecisionTreeClassifier(max_depth=4, random_state=0)),
        "SGD, rate 10": steps(10.0),
        "SGD, scaled, rate 1": make_pipeline(MinMaxScaler(), steps(1.0)),
        "perceptron": make_pipeline(MinMaxScaler(), Perceptron(max_iter=2, tol=None)),
        "network, 1 epoch": network(1e-3, 1),
        "network, rate .5": network(0.5, 2),
        "fading early": Fading((0.0, 0.08, 0.1, 0.1, 0.1)),
        "fading late": Fading((0.0, 0.0, 0.0, 0.1, 0.2)),
        "fading slowly": Fading((0.0, 0.02, 0.04, 0.06, 0.08)),
        "rising, then fading": Fading((0.1, 0.03, 0.0, 0.1, 0.2)),
        "fading, then rising": Fading((0.0, 0.1, 0.1, 0.05, 0.0)),
    }


def weak() -> dict[str, Any]:
    """Return pipelines that rows neither help nor hurt much, or whose leaves count rows."""
    from sklearn.dummy import DummyClassifier

    def tree(**settings: Any) -> Any:
        return DecisionTreeClassifier(random_state=0, **settings)

    return {
        "tree of depth 1": tree(max_depth=1),
        "tree of depth 1, entropy": tree(max_depth=1, criterion="entropy"),
        "tree of depth 2": tree(max_depth=2),
        "tree of depth 3": tree(max_depth=3),
        "tree of depth 4, entropy": tree(max_depth=4, criterion="entropy"),
        "tree, leaves of 300": tree(min_samples_leaf=300),
        "tree, leaves of 3000": tree(min_samples_leaf=3000),
        "tree to the end": tree(),
        "majority": DummyClassifier(),
    }


def adversarial(draw: str) -> dict[str, Any]:
    """Return one or two that get worse with rows, in front of two to four others."""
    rng = generator("fitness", "adversarial", draw)
    drawn: dict[str, Any] = {}
    for pool, least in ((worse_with_rows(), 1), (weak(), 2)):
        count = int(rng.integers(least, 2 * least + 1))
        names = [list(pool)[i] for i in rng.choice(len(pool), count, replace=False)]
        drawn |= {name: pool[name] for name in names}
    return drawn


SETS: dict[str, Callable[[str], dict[str, Any]]] = {
    "ordinary": lambda _: ordinary(),
    "counting": lambda _: counting(),
    "both": lambda _: ordinary() | counting(),
    "adversarial": adversarial,
}


@dataclass(frozen=True, slots=True)
class WholeTable:
    """A whole table as numbers, from which every seed draws its rows."""

    name: str
    features: Any
    labels: Any


def load(name: str, mirrors: Sequence[Path]) -> WholeTable:
    """A table by its name here."""
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
    dataset = fetch.load(TABLES[name], mirrors=tuple(mirrors))
    return WholeTable(name, UnitRangeEncoder().fit_transform(dataset.features), labels_of(dataset))


def with_heavy_tail(table: WholeTable) -> WholeTable:
    """Return the table with one more feature, whose variance has no limit in the first class."""
    rng = generator("fitness", "heavy tail", table.name)
    rows = len(table.labels)
    heavy = np.where(table.labels == 0, rng.standard_t(1.0, rows), rng.normal(size=rows))
    features = np.column_stack([table.features, 0.15 * heavy]).astype(np.float32)
    return WholeTable(f"{table.name}, heavy tail", features, table.labels)


class Recorded:
    """The environment of a samples bench: rows of a table by seed, and fits that are kept."""

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

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """The hits of the recorded fit, or of a new one, recorded; time by the rows tested."""
        fit = self._fit(configuration, rows)
        full = rows == self.train_rows
        tested = fit["test_cpu"] * test_rows / self.test_rows
        return Probe(
            rows=rows,
            test_rows=test_rows,
            train_correct=None if full else fit["train"][str(rows)],
            half_correct=None if full else fit["train"][str(rows // 2)],
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
    """One selection beside Full-run: what it lost and cost, and of how many it warned.

    `seconds` are the CPU seconds of the selection and of the one full training of its choice.
    """

    loss: float
    speedup: float
    unfit: float
    seconds: float = 0.0


def select(environment: Recorded, algorithm: ABC) -> Run:
    """Let ABC choose, and train everyone in full to know what it lost."""
    bench = SamplesBench(environment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitnessWarning)
        for _ in play("abc", algorithm, bench, seed=0):
            pass
    score = bench.score()
    full = [
        environment.measure(index, environment.train_rows, environment.test_rows)
        for index in range(len(environment.configurations))
    ]
    return Run(
        loss=max(probe.test_accuracy for probe in full) - score.value,
        speedup=sum(probe.cpu(train=False) for probe in full) / bench.cost.cpu_seconds,
        unfit=score.metrics.get("unfit_configurations", 0.0),
        seconds=bench.cost.cpu_seconds + score.metrics["training_cpu_seconds"],
    )


def allowed(runs: int, delta: float) -> float:
    """The most runs, within two standard deviations of chance, that may lose more than epsilon."""
    return runs * delta + 2 * math.sqrt(runs * delta * (1 - delta))


def main(arguments: Sequence[str] | None = None) -> int:
    """Select and print; 1 if more runs lose above epsilon than delta allows."""
    tables = (*TABLES, SLICES, NORMALS)
    parser = argparse.ArgumentParser(description="ABC's promise with pipelines that are not fit")
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
