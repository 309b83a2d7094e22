"""Runs of whole frameworks: each is run once by itself, stored, and replayed from then on."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Cost
from leaseboard.algorithms.environments.holdout import SystemFit
from leaseboard.tasks.evaluate.frameworks import inside, table_program, venv
from leaseboard.tasks.evaluate.frameworks.sessions import FrameworkProcess
from leaseboard.tasks.evaluate.trials.spaces import SUITED, digest, load_space
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.machine.environment import IMPORTED_FROM
from leaseboard.tasks.preprocess.encoders import labels_of, refuse_text
from leaseboard.tasks.preprocess.encoding import known_dates, naming, spread_dates
from leaseboard.tasks.preprocess.splits import division
from leaseboard.tasks.store.recorded import Record, Store

ESTIMATORS = "leaseboard.tasks.models.automl.estimators"
"""Module of the system ``leaseboard``, which imports this one; so it is known by its name."""

FOLDS = 5
"""Folds of our own estimator where time or groups divide the rows; else they are its default."""

LEARNERS = ("lightgbm", "pandas")
"""More libraries of systems that run in our own environment."""

PATIENCE = 300.0, 60.0
"""Time limit of a system: wall seconds, plus so many times the budget."""


@dataclass(eq=False)
class SystemFits:
    """Fits of systems to the rows `train` of a dataset, with predictions of the rows `test`.

    - `split`: what the rows are, as values for the key.
    - `store`: where fits are kept.

    A date is the columns of `spread_dates`. Raises DataError for a column of texts.
    """

    dataset: Dataset
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    _: KW_ONLY
    split: Mapping[str, Any]
    store: Store

    def __post_init__(self) -> None:
        with naming(self.dataset.reference):
            refuse_text(self.dataset)  # which not every system takes
        raw, self._rule = self.dataset.features, division(self.dataset).of(self.train)
        features = spread_dates(raw, known_dates(raw, self.train))
        self.dataset = replace(self.dataset, features=features)
        self._categories = _categories(self.dataset)

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        """Return the recorded fit of `system`; it is run if it never was.

        Raises
        ------
        SkipError
            If the system is not installed, with the fix.
        LeaseboardError
            If it fails.
        """
        python = venv.python(system)
        own = system in venv.names()
        modules = [inside.__name__, table_program.__name__]
        ours = system == "leaseboard"
        key = recorded_key(
            code=[*modules, ESTIMATORS] if ours else modules,
            libraries=() if own else LEARNERS,
            system=system,
            environment=venv.digest(system) if own else "",
            space=digest(load_space(SUITED[self.dataset.task])) if ours else "",
            data=self.dataset.digest,
            split=self.split,
            seed=seed,
            seconds=seconds,
        )
        records = self.store.records(key)
        found, ran = records.once(lambda: (self._run(python, system, seed, seconds), True))
        cpu, wall = found["cpu_seconds"], found["wall_seconds"]
        cost = Cost(cpu, wall, cpu if ran else 0.0, found["peak_memory_mb"])
        return SystemFit(np.array(found["predictions"], dtype=np.float64), cost)

    def _run(self, python: Path, system: str, seed: int, seconds: float) -> Record:
        order = self._data() | {
            "seed": seed % 2**31,
            "task": self.dataset.task,
            "seconds": seconds,
            "root": str(IMPORTED_FROM),
            "estimators": ESTIMATORS,
        }
        least, times = PATIENCE
        with FrameworkProcess(
            python, "table_program", system, who=system, patience=least + times * seconds,
            fix=": lower the budget",
        ) as process:  # fmt: skip
            process.send(order)
            found: Record = process.receive()
            return found

    def _data(self) -> dict[str, Any]:
        """Return the columns of the rows of both parts, the labels to learn, and our folds."""
        found: dict[str, Any] = {"categories": self._categories}
        features = self.dataset.features
        for part, rows in (("train", self.train), ("test", self.test)):
            found[part] = [
                (features[name] if own is None else features[name].cat.codes).iloc[rows].to_numpy()
                for name, own in zip(features, self._categories, strict=True)
            ]
        found["labels"] = labels_of(self.dataset)[self.train]
        if self._rule.column:
            blocks = self._rule.blocks(FOLDS)
            found["cv"] = [self._rule.fold(blocks, fold) for fold in range(FOLDS)]
        return found


def _categories(dataset: Dataset) -> list[list[Any] | None]:
    """Return the categories of each column, None if it holds numbers."""
    return [
        list(column.cat.categories) if columns.is_nominal(column) else None
        for _, column in dataset.features.items()
    ]
