"""Frameworks on our data, each in an environment of its own: sessions, and runs that are stored.

A session is with a learner on a stream, row by row, or with a search that asks for probes. Each is
in a process of its own, which answers orders and is ended when it must. A whole framework is run
once by itself on our split, stored, and replayed from then on.
"""

import os
import pickle
import re
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.base import Cost
from leaseboard.algorithms.environments.samples import ProbeAsked
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.algorithms.errors import DivergedError, LeaseboardError
from leaseboard.algorithms.online.schema import Origin
from leaseboard.tasks.evaluate import framework_program, venv
from leaseboard.tasks.evaluate.spaces import SUITED, digest, load_space
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.machine.environment import IMPORTED_FROM, ONE_THREAD
from leaseboard.tasks.machine.versions import recorded_key
from leaseboard.tasks.preprocess.encoders import labels_of, refuse_text
from leaseboard.tasks.preprocess.encoding import known_dates, naming, spread_dates
from leaseboard.tasks.preprocess.splits import division
from leaseboard.tasks.processes.child import Child, EndedError, Limits
from leaseboard.tasks.store.database import Record, Store

ONE_HOT = ("autovw",)
"""Frameworks that get our features; others get a category as one value, which they encode."""

_OVERFLOWS = "OverflowError", "FloatingPointError"
"""What Python raises where the numbers of a model have left the range."""


PATIENCE, BUDGET_PATIENCE = 300.0, 60.0
"""Wall seconds after which a program that does not answer is ended, and its job fails; and in
addition so many times its budget."""

_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""How the last line of a traceback begins, after which threads may go on printing."""


class FrameworkProcess:
    """Program in a framework's environment, on one thread, in a folder of its own.

    - `python`: the interpreter of the environment, see `venv`.
    - `*program`: what `framework_program` runs there, and its arguments.
    - `who`: its name in errors.
    - `budget`: seconds that a user allows it, of which its patience is a multiple, too.
    """

    def __init__(self, python: Path, *program: str, who: str, budget: float = 0.0) -> None:
        self._who, self._fix = who, ": lower the budget" if budget else ""
        self._limits = Limits(wall_seconds=PATIENCE + BUDGET_PATIENCE * budget)
        self._folder = tempfile.TemporaryDirectory(prefix="framework-")
        self._printed = Path(self._folder.name) / "printed.txt"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        with self._printed.open("wb") as printed:
            self._child = Child.start(
                [str(python), "-s", "-P", framework_program.__file__],
                *program,
                who=who,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self._folder.name,
                # Hashes of texts, and so the order of sets, are the same in every process.
                env=ours | ONE_THREAD | {"PYTHONHASHSEED": "0"},
                start_new_session=True,
            )

    def send(self, message: Any) -> None:
        """Send an order, or a part of one; `receive` reports a process that has ended."""
        self._child.send(pickle.dumps(message))

    def receive(self, when: str = "") -> Any:
        """Return the next answer; `when`: what it was doing, for errors.

        Raises LeaseboardError if it takes too long or has ended, DivergedError if it ended because
        its numbers left the range.
        """
        try:
            return pickle.loads(self._child.answer(self._limits))  # noqa: S301 - our own program
        except EndedError as end:
            if end.code is None:
                raise LeaseboardError(f"{self._who}{when}: {end}{self._fix}") from end
            lines = self._printed.read_text(encoding="utf-8", errors="replace").split("\n")
            lines = list(filter(str.strip, lines)) or ["no word"]
            word = [line for line in lines if _ERROR.match(line)] or lines
            kind = DivergedError if word[-1].startswith(_OVERFLOWS) else LeaseboardError
            raise kind(f"{end}{when}: {word[-1]}") from end

    def close(self) -> None:
        """End it and all that it started, also while it works."""
        self._child.kill()
        self._folder.cleanup()


class StreamSession(FrameworkProcess):
    """Learner of a framework in its process, see `Outside`; SkipError where it is missing.

    Labels that have come are sent with the next row, which saves half of the exchanges.
    """

    def __init__(self, system: str, learner: str, stream: Stream, seed: int) -> None:
        self._n_classes = len(stream.classes)
        self._at = self._waiting = 0
        self._owed: list[float] = []
        """Labels that are not sent yet."""
        self._columns = _columns(stream, with_categories=system not in ONE_HOT)
        names = [f"x{place}" for place in range(len(self._columns))]
        groups = stream.schema.columns if system in ONE_HOT else ()
        binary = "regression" if stream.task == "regression" else "binary"
        who = f"{system}'s {learner}"
        super().__init__(venv.python(system), "stream", system, learner, who=who)
        self.send(
            {
                "task": "classes" if stream.classes else binary,
                "seed": seed % 2**31,
                "n_classes": self._n_classes,
                "names": tuple(names),
                "nominal": tuple(
                    name for name, own in zip(names, self._columns, strict=True) if own[1]
                ),
                "namespaces": tuple(tuple(names[place] for place in group) for group in groups),
            }
        )

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """See `StreamLearner.learn_many`."""
        found = list[NDArray[np.float64]]()
        for row, label in enumerate(labels.tolist()):
            if not self._waiting:  # the process has no example without a label
                found.append(self.predict_waiting(examples[row : row + 1], 0))
            self._waiting -= 1
            self._owed.append(label)
        return np.concatenate(found or [np.empty(0)])

    def predict_waiting(self, examples: NDArray[np.float32], pending: int) -> NDArray[np.float64]:
        """See `StreamLearner.predict_waiting`."""
        self._waiting += len(examples)
        values = [examples[:, own] @ np.arange(1, 1 + len(own), dtype=np.float32)
                  for own, _ in self._columns]  # fmt: skip
        predictions = np.empty((len(examples), self._n_classes or 1))
        for i, row in enumerate(np.stack(values, axis=1).tolist()):
            predictions[i] = self._answer(row)
            self._at += 1
        return predictions if self._n_classes else predictions[:, 0]

    def finish(self) -> Cost:
        """Learn what is left, and end; return what that took, memory included."""
        return Cost(**self._answer(None))

    def _answer(self, row: list[float] | None) -> Any:
        """Send the labels that have come, and a row; return the answer."""
        self.send((self._owed, row))
        self._owed = []
        return self.receive(f" at example {self._at}")


def _columns(stream: Stream, *, with_categories: bool) -> list[tuple[list[int], bool]]:
    """Return the features that make each column for another system, and whether it is nominal.

    The features of one text, or of one part of a date, are the numbers of its values in the order
    in which they came, and 0 for none.
    """
    found: dict[Any, list[int]] = {}
    origins = stream.schema.origins or map(Origin, stream.schema.features)
    for place, of in enumerate(origins):
        nominal = bool(of.value) and with_categories
        found.setdefault((of.column, of.part) if nominal else place, []).append(place)
    return [(own, isinstance(key, tuple)) for key, own in found.items()]


class SearchSession(FrameworkProcess):
    """Search in its process, see `Deciders`; SkipError where its library is missing."""

    def __init__(self, system: str, order: Mapping[str, Any], seed: int) -> None:
        super().__init__(venv.python(system), "select", system, who=system)
        self.send({**order, "seed": seed % 2**31})

    def hear(self) -> ProbeAsked | int | None:
        """Return what it asks for, or the number that it chooses."""
        said = self.receive()
        return said["chosen"] if "chosen" in said else ProbeAsked(**said)

    def report(self, accuracy: float | None) -> None:
        """Answer what it asked for last; None if that could not be trained."""
        self.send(accuracy)


FOLDS = 5
"""Folds of our own estimator where time or groups divide the rows; else they are its default."""


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

    def fit(self, system: str, seed: int, seconds: float) -> tuple[NDArray[np.float64], Cost]:
        """Return the recorded fit of `system`; it is run if it never was.

        Raises
        ------
        SkipError
            If the system is not installed, with the fix.
        LeaseboardError
            If it fails.
        """
        python = venv.python(system)
        space = digest(load_space(SUITED[self.dataset.task])) if system == "leaseboard" else ""
        key = recorded_key(
            system=system,
            environment=venv.digest(system) if system in venv.names() else "",
            space=space,
            data=self.dataset.digest,
            split=self.split,
            seed=seed,
            seconds=seconds,
        )
        records = self.store.records(key)
        found, ran = records.once(lambda: (self._run(python, system, seed, seconds), True))
        cpu, wall = found["cpu_seconds"], found["wall_seconds"]
        cost = Cost(cpu, wall, cpu if ran else 0.0, found["peak_memory_mb"])
        return np.array(found["predictions"], dtype=np.float64), cost

    def _run(self, python: Path, system: str, seed: int, seconds: float) -> Record:
        order = self._data() | {
            "seed": seed % 2**31,
            "task": self.dataset.task,
            "seconds": seconds,
            "root": str(IMPORTED_FROM),
        }
        process = FrameworkProcess(python, "table", system, who=system, budget=seconds)
        with closing(process):
            process.send(order)
            return process.receive()

    def _data(self) -> dict[str, Any]:
        """Return the columns of the rows of both parts, the labels to learn, and our folds."""
        found: dict[str, Any] = {"labels": labels_of(self.dataset)[self.train]}
        for part, rows in (("train", self.train), ("test", self.test)):
            frame = self.dataset.features.iloc[rows]
            found[part] = [_sent(column) for _, column in frame.items()]
        if self._rule.column:
            found["cv"] = list(self._rule.folds(FOLDS))
        return found


def _sent(column: pd.Series) -> tuple[NDArray[Any], list[Any] | None]:
    """Return the values of a column and None, or its codes and its categories."""
    if columns.is_nominal(column):
        return column.cat.codes.to_numpy(), list(column.cat.categories)
    return column.to_numpy(), None
