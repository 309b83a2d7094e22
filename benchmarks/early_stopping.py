"""How often early-stopped cross-validation drops what it should not, on parts of real tables.

``python -m benchmarks.early_stopping --mirror DIR [--rows N ...] [--seeds N]`` draws small tables
from large ones and cross-validates ten ordinary classifiers on each. What the fold models are
truly worth is reported by thousands of rows that no fold holds. It prints, for both readings of
the folds and some delta, in which share of the tables all that remained were more than epsilon
below the best (by the mean of the true accuracies of its fold models), and the share of the fits
made.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from leaseboard.algorithms.abc_selection.cross_validation import EarlyStoppedCV
from leaseboard.algorithms.environments.folds import FoldProbe, Folds, FoldsEnvironment
from leaseboard.algorithms.events import Eliminated, of
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate.probes.recorded import able, verdicts
from leaseboard.tasks.evaluate.probes.sample_rows import labels_of
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder

DATA = ("mirror:magic04", "mirror:adult", "mirror:letter")
FRESH = 5000
"""Rows by which a fold model is judged."""
EPSILON = 0.01
DELTAS = (0.1, 0.5)


def ordinary() -> list[Any]:
    """Return ten classifiers, some of which nearly tie."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return [
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        *(LogisticRegression(C=c, max_iter=100) for c in (0.1, 10.0)),
        *(DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (3, 8, None)),
        *(KNeighborsClassifier(k) for k in (1, 15)),
        RandomForestClassifier(10, random_state=0),
    ]


class JudgedFolds(Folds):
    """Folds of a few rows of a table, whose models are judged by fresh rows."""

    def __init__(self, X: NDArray[Any], y: NDArray[Any], rows: int, folds: int, seed: int) -> None:
        order = generator(seed, "early stopping").permutation(len(y))
        self._own, self._fresh = order[:rows], order[rows : rows + FRESH]
        self._X, self._y = X, y
        self._models = ordinary()
        self.configurations = [{"learner": repr(m)} for m in self._models]
        self.folds = folds
        self.truth = np.full((len(self._models), folds), np.nan)
        self._seen: dict[tuple[int, int], FoldProbe] = {}

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        """Return the verdicts of a fold; the model's true accuracy is noted."""
        asked = configuration, fold
        if asked not in self._seen:
            self._seen[asked] = self._measured(configuration, fold)
        return self._seen[asked]

    def _measured(self, configuration: int, fold: int) -> FoldProbe:
        from sklearn.base import clone

        mine = np.arange(len(self._own)) % self.folds == fold
        train, test = self._own[~mine], self._own[mine]
        model = able(clone(self._models[configuration]), self._y[train])
        model.fit(self._X[train], self._y[train])
        right = verdicts(model, self._X[test], self._y[test])
        self.truth[configuration, fold] = verdicts(
            model, self._X[self._fresh], self._y[self._fresh]
        ).mean()
        return FoldProbe(
            rows=len(train),
            test_rows=len(test),
            test_correct=int(right.sum()),
            right="".join("01"[each] for each in right.astype(int)),
        )


def judged(folds: JudgedFolds, algorithm: EarlyStoppedCV) -> tuple[float, float]:
    """Return how much worse the best of the remaining is than the best, and the fits made."""
    env = FoldsEnvironment(folds)
    events = list(algorithm.run(env, seed=0))
    worth = folds.truth.mean(axis=1)
    left = set(range(len(worth))) - {event.configuration for event in of(events, Eliminated)}
    return float(worth.max() - max(worth[index] for index in left)), env.at / env.budget


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="false drops of early-stopped cross-validation")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args(arguments)
    for reference in given.data:
        dataset = loading.load(reference, mirrors=tuple(given.mirror))
        X = UnitRangeEncoder().fit(dataset.features).transform(dataset.features)
        y = labels_of(dataset)
        for rows in given.rows:
            with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tables = [JudgedFolds(X, y, rows, given.folds, s) for s in range(given.seeds)]
                for table in tables:
                    for index in range(len(table.configurations)):
                        for fold in range(given.folds):
                            table.measure(index, fold)
            for reading in ("alike", "any"):
                for delta in DELTAS:
                    algorithm = EarlyStoppedCV(epsilon=EPSILON, delta=delta, folds=reading)
                    found = np.array([judged(table, algorithm) for table in tables])
                    wrong = float((found[:, 0] > EPSILON).mean())
                    out(
                        f"{reference:18} {rows:5} rows  {reading:5} delta {delta:3}: lost more in"
                        f" {wrong:5.1%}, at most {found[:, 0].max():.4f};"
                        f" fits {found[:, 1].mean():.0%}"
                    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
