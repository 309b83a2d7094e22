"""What a run on a stream left as a model that learns no more: its champion, or the whole race."""

from __future__ import annotations

import tempfile
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from leaseboard.algorithms.chacha.one_vs_rest import OneVsRest
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.chacha.race_file import read_race, write_race
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online.workspace import text_line
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models.columns import describe
from leaseboard.tasks.models.saved import Description, SavedModel
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.stream_encoder import StreamEncoder
from leaseboard.tasks.preprocess.streaming import (
    StreamOptions,
    class_labels,
    from_log,
    log_shift,
    needs_log,
    order_of,
)

EXPORTED, RACE = "champion.vw", "race.npz"


class ModelFile(ABC):
    """What forecasts one example of a stream's features after another, from a file.

    `path`: of the file.
    """

    def __init__(self, path: Path, schema: Schema, task: str) -> None:
        self.schema, self.task = schema, task
        self._name, self._content = path.name, path.read_bytes()

    def save(self, folder: Path) -> None:
        """Write the file into `folder`."""
        (folder / self._name).write_bytes(self._content)

    @property
    def tells_classes(self) -> bool:
        """Whether it forecasts numbers of classes, not margins."""
        return False

    @abstractmethod
    def predict(self, example: NDArray[np.float32]) -> float:
        """The forecast for one example: a logarithm, a margin, or a number as it is."""


class ExportedLearner(ModelFile):
    """A learner, from Vowpal Wabbit's model file."""

    def __init__(self, path: Path, schema: Schema, task: str) -> None:
        super().__init__(path, schema, task)
        self._workspace = Workspace(
            arg_list=["--quiet", "--testonly", "--initial_regressor", str(path)]
        )

    def predict(self, example: NDArray[np.float32]) -> float:
        """The champion's own prediction."""
        return float(self._workspace.predict(text_line(self.schema, example.tolist())))


class WholeRace(ModelFile):
    """A race whose models see what it computes, so that none stands alone, or those of classes."""

    def __init__(self, path: Path, schema: Schema, task: str) -> None:
        super().__init__(path, schema, task)
        self._race = read_race(path, schema, task)

    def predict(self, example: NDArray[np.float32]) -> float:
        """What the race would have forecast next; of many classes the likeliest's number."""
        told = self._race.predict(example)
        return float(np.argmax(told) if self.tells_classes else told)

    @property
    def tells_classes(self) -> bool:
        """See `ModelFile.tells_classes`."""
        return isinstance(self._race, OneVsRest)


class StreamModel(SavedModel):
    """Predicts as the champion, or the race, did when the stream ended."""

    needs = ("leaseboard", "mlflow", "numpy", "pandas", "vowpalwabbit")

    def __init__(self, description: Description, file: ModelFile) -> None:
        super().__init__(description)
        self.encoder = _encoder(description)
        self.file = file
        self._lock = threading.Lock()  # a server predicts from many threads, none of these can

    def outputs(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """The forecasts for typed rows, shape (n_rows,): logarithms, margins, classes' numbers."""
        with naming("the model's input"):
            features = self.encoder.transform(rows)
        with self._lock:
            return np.array([self.file.predict(x) for x in features], dtype=np.float64)

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        outputs, shift = self.outputs(rows), self.description.shift
        if self.description.classes:
            return outputs if self.file.tells_classes else outputs > 0
        return outputs if shift is None else from_log(outputs, shift)

    def _save(self, folder: Path) -> None:
        self.file.save(folder)


def fitted(dataset: Dataset, job: Job, result: Result, learner: Any) -> tuple[StreamModel, None]:
    """The model of the `learner` that `job` left, and no score: a stream holds no rows back.

    Raises UsageError if the run left no learner, as one does that was only a reference.
    """
    if not isinstance(learner, Learner | Race | OneVsRest):
        raise UsageError(
            "the run left no model: only algorithms that end with an online learner or a race,"
            " such as vanilla and chacha, can be registered"
        )
    options = StreamOptions(**job.bench)
    order = order_of(dataset, options, job.environment_seed)
    rows, seen = dataset.features.iloc[order], None if job.budget is None else int(job.budget)
    encoder = options.encoder().fit(rows.iloc[:seen])
    shift, classes = None, ()
    if dataset.task == "regression":
        target = dataset.target.to_numpy(dtype=np.float64)
        shift = log_shift(target) if needs_log(target, options.log_target) else None
    else:
        _, classes = class_labels(dataset, order)
    description = Description(
        kind="stream",
        columns=describe(dataset.features, texts=True),
        classes=classes,
        options=options,
        encoder=encoder.state(),
        shift=shift,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if isinstance(learner, Race | OneVsRest):
            write_race(folder / RACE, job.algorithm, job.settings, job.seed, learner)
        else:
            learner.save(folder / EXPORTED)
        return read(description, folder), None


def read(description: Description, folder: Path) -> StreamModel:
    """The model of a saved folder; UsageError if a race in it is damaged."""
    whole = (folder / RACE).exists()
    kind, name = (WholeRace, RACE) if whole else (ExportedLearner, EXPORTED)
    task = "classification" if description.classes else "regression"
    return StreamModel(description, kind(folder / name, _schema(description), task))


def _encoder(description: Description) -> StreamEncoder:
    assert description.options is not None
    assert description.encoder is not None
    return description.options.encoder().restore(description.encoder)


def _schema(description: Description) -> Schema:
    return _encoder(description).features_.schema()
