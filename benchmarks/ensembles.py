"""What the ensemble of an estimator over policies adds to the best of its trials, on test rows.

``python -m benchmarks.ensembles --mirror DIR [--data REFERENCE ...] [--seeds N] [--trials N]
[--store FILE]`` fits the default estimator on four fifths of each table with a store, then
``ensemble=False`` on the same store, which replays the same trials. It prints both scores on the
last fifth, the trials that the second fit ran again (0), and on how many tables the ensemble was
better in the mean of their splits, and by how much. With a store that is kept, trials are run
once.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import threadpoolctl

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.recorded import Store

DATA = ("mirror:31", "mirror:40691", "mirror:181", "mirror:54", "mirror:40984", "mirror:car",
        "mirror:spambase", "mirror:847", "mirror:higgs_7500", "mirror:23515", "mirror:216",
        "mirror:537")  # fmt: skip
SEEDS = 3
TRIALS = 24


@dataclass(frozen=True, slots=True)
class EnsembleGain:
    """Results of two fits of the same trials on a table."""

    ensemble: float
    best: float
    members: int
    again: int
    """Trials that the second fit had to run."""

    @property
    def gain(self) -> float:
        """Return the gain of the ensemble over the best single configuration."""
        return self.ensemble - self.best


def measured(
    reference: str, seed: int, trials: int, store: str, mirrors: Sequence[Path] = ()
) -> EnsembleGain:
    """Return both fits on one division of a table."""
    from leaseboard.tasks.models.automl.estimators import AutoMLClassifier, AutoMLRegressor

    dataset = loading.load(reference, mirrors=tuple(mirrors))
    parts = split(dataset, (0.8, 0.2), seed)
    classes = dataset.task == "classification"
    y = dataset.target.astype(str).to_numpy() if classes else dataset.target.to_numpy()
    X_train, X_test = (dataset.features.iloc[rows] for rows in (parts.train, parts.test))
    made = AutoMLClassifier if classes else AutoMLRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits: list[Any] = []
        counts: list[int] = []
        for ensemble in (True, False):
            model = made(
                max_trials=trials,
                ensemble=ensemble,
                store=store,
                random_state=seed,
            )
            fits.append(model.fit(X_train, y[parts.train]))
            counts.append(int(Store(store).table.counted()[1]))
        both, single = (float(fit.score(X_test, y[parts.test])) for fit in fits)
    return EnsembleGain(both, single, len(fits[0].model_.members), counts[1] - counts[0])


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="ensembles and the best of their trials")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--store", help="a file that keeps the trials")
    given = parser.parse_args(arguments)
    tables = []
    with threadpoolctl.threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        store = given.store or str(Path(folder) / "store.sqlite")
        for reference in given.data:
            rows = [
                measured(reference, seed, given.trials, store, given.mirror)
                for seed in range(given.seeds)
            ]
            tables.append(float(np.mean([row.gain for row in rows])))
            for row in rows:
                out(
                    f"{reference:24} ensemble of {row.members:2} {row.ensemble:.4f}"
                    f"  best single {row.best:.4f}  {row.gain:+.4f}  trials again {row.again}"
                )
    better, alike = sum(gain > 0 for gain in tables), sum(gain == 0 for gain in tables)
    out(
        f"better on {better} of {len(tables)} tables, alike on {alike}, mean gain"
        f" {mean(tables):+.4f}, worst {min(tables):+.4f}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
