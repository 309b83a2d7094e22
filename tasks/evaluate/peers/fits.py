"""Whole systems on one split of a data set: each is run once by itself, stored, replayed after."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.systems import SystemFit
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.peers import inside, table_program, venv
from leaseboard.tasks.evaluate.peers.apart import run_apart
from leaseboard.tasks.fetch import Dataset, columns
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.machine.paths import IMPORTED_FROM
from leaseboard.tasks.store.recorded import Record, Store

ESTIMATORS = "leaseboard.tasks.models.automl.estimators"
"""What ``leaseboard`` is, in a room that uses this one; so it is known by its name alone."""

LEARNERS = ("lightgbm", "pandas")
"""What the systems that run in our own environment depend on beside the usual."""

PATIENCE = 300.0, 60.0
"""Wall seconds, and as many times the budget, after which a system is ended and its job fails."""


class SystemFits:
    """The fits of systems to the rows `train` of a data set, with forecasts of the rows `test`.

    - `split`: what the rows are, as values for the key.
    - `store`: where fits are kept.

    Raises UsageError for a column that the systems cannot take.
    """

    def __init__(
        self,
        dataset: Dataset,
        train: NDArray[np.int64],
        test: NDArray[np.int64],
        *,
        split: Mapping[str, Any],
        store: Store,
    ) -> None:
        self._columns = _columns(dataset)
        self._dataset = dataset
        self._rows = {"train": train, "test": test}
        self._split = split
        self._store = store

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        """The recorded fit of `system`; it is run if nobody has.

        Raises
        ------
        SkipError
            If the system is not installed, with the mend.
        LeaseboardError
            If it fails.
        """
        isolated = library(system) in venv.names()
        python = venv.python(library(system)) if isolated else Path(sys.executable)
        modules = [inside.__name__, table_program.__name__, *programs(system)]
        if system == "leaseboard":
            modules.append(ESTIMATORS)
        records = self._store.records(
            recorded_key(
                code=modules,
                libraries=() if isolated else LEARNERS,
                system=system,
                environment=venv.digest(library(system)) if isolated else "",
                data=self._dataset.digest,
                split=self._split,
                seed=seed,
                seconds=seconds,
            )
        )
        spent = 0.0
        records.refresh()
        while not len(records):
            ran = records.extend(lambda _: self._run(system, python, seed, seconds))
            spent = records[0]["cpu_seconds"] if ran else 0.0
        found = records[0]
        return SystemFit(
            np.array(found["forecasts"], dtype=np.float64),
            found["cpu_seconds"],
            found["wall_seconds"],
            spent,
            found["peak_memory_mb"],
        )

    def _run(self, system: str, python: Path, seed: int, seconds: float) -> Record:
        request = {
            "seed": seed % 2**31,
            "task": self._dataset.task,
            "seconds": seconds,
            "columns": self._columns,
            "root": str(IMPORTED_FROM),
            "estimators": ESTIMATORS,
        }
        with tempfile.TemporaryDirectory(prefix="system-") as name:
            folder = Path(name)
            (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
            np.savez(folder / "data.npz", **self._arrays())
            command = inside.command(python, table_program.__name__, system, str(folder))
            least, times = PATIENCE
            whole = run_apart(command, system, folder, least + times * seconds)
            answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
            forecasts = np.load(folder / "forecasts.npy")
        besides = [sum(part) for part in zip(answer["setup"], answer["forecast"], strict=True)]
        return {
            "forecasts": forecasts.tolist(),
            "cpu_seconds": max(0.0, whole.cpu_seconds - besides[0]),
            "wall_seconds": max(0.0, whole.wall_seconds - besides[1]),
            "peak_memory_mb": answer["peak_memory_mb"],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {
            f"{part}_{number}": _values(column.iloc[rows])
            for part, rows in self._rows.items()
            for number, (_, column) in enumerate(self._dataset.features.items())
        }
        return arrays | {"labels": truth(self._dataset)[self._rows["train"]]}


def programs(system: str) -> list[str]:
    """The modules that set `system` up in its environment, where no import names them."""
    name = table_program.module_of(system)
    return [f"{__package__}.{name}"] if name else []


def library(system: str) -> str:
    """The library of `system`, which is mostly named after it.

    Examples
    --------
    >>> library("tpot-light")
    'tpot'
    """
    return table_program.LIBRARIES.get(system, system)


def truth(dataset: Dataset) -> NDArray[Any]:
    """The target of every row: numbers, or the classes' codes."""
    if dataset.task == "regression":
        return dataset.target.to_numpy(dtype=np.float64)
    return dataset.target.cat.codes.to_numpy(dtype=np.int64)


def _values(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = (column.cat.codes if columns.is_nominal(column) else column).to_numpy()
    return values


def _columns(dataset: Dataset) -> list[dict[str, Any]]:
    """Of each column its categories, None if it holds numbers."""
    for name, column in dataset.features.items():
        if columns.is_text(column) or columns.is_date(column):
            kind = "dates" if columns.is_date(column) else "free text"
            raise UsageError(
                f"{dataset.reference}: column {str(name)!r} holds {kind}, which not every system"
                " that is compared takes: leave it out of the table; for a model of your own that"
                " takes it, fit PolicyClassifier or PolicyRegressor"
            )
    return [
        {"categories": list(column.cat.categories) if columns.is_nominal(column) else None}
        for _, column in dataset.features.items()
    ]
