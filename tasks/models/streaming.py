"""The champion of a stream as a model: a Vowpal Wabbit file that learns no more."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from algorithms.benches.stream import Stream
from algorithms.errors import UsageError
from algorithms.online.learner import Learner
from algorithms.online.schema import Schema, stream_schema
from algorithms.online.workspace import text_line
from tasks.fetch import Dataset
from tasks.jobs.job import Job, Result
from tasks.models.columns import describe
from tasks.models.saved import Description, SavedModel
from tasks.preprocess.streaming import StreamOptions, from_log, log_shift, namespaces, needs_log
from tasks.preprocess.transformer import naming

FILE = "champion.vw"


class StreamModel(SavedModel):
    """Predicts as the champion did when the stream ended.

    Parameters
    ----------
    description : Description
    content : bytes
        Of VW's model file.
    """

    needs = ("leaseboard", "mlflow", "numpy", "pandas", "vowpalwabbit")

    def __init__(self, description: Description, content: bytes) -> None:
        super().__init__(description)
        assert description.options is not None
        self._content = content
        self.encoder = description.options.encoder()
        self._schema = _schema(len(description.columns), description.options)
        self._workspace = _opened(content)
        self._lock = threading.Lock()  # a server predicts from many threads, a workspace cannot

    def outputs(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """The champion's own predictions for typed rows, shape (n_rows,): logarithms, margins."""
        with naming("the model's input"):
            features = self.encoder.fit_transform(rows)
        with self._lock:
            return np.array(
                [self._workspace.predict(text_line(self._schema, x.tolist())) for x in features],
                dtype=np.float64,
            )

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        outputs, shift = self.outputs(rows), self.description.shift
        if self.description.classes:
            return outputs > 0
        return outputs if shift is None else from_log(outputs, shift)

    def _save(self, folder: Path) -> None:
        (folder / FILE).write_bytes(self._content)


def fitted(dataset: Dataset, job: Job, result: Result, learner: Any) -> tuple[StreamModel, None]:
    """The model of the `learner` that `job` left, and no score: a stream holds no rows back.

    Raises
    ------
    UsageError
        If the run left no learner, as one does that was only a reference.
    """
    if not isinstance(learner, Learner):
        raise UsageError(
            "the run left no model: only algorithms that end with one online learner, such as"
            " chacha and vanilla, can be registered"
        )
    options = StreamOptions(**job.bench)
    shift = None
    if dataset.task == "regression":
        target = dataset.target.to_numpy(dtype=np.float64)
        shift = log_shift(target) if needs_log(target, options.log_target) else None
    classes = dataset.target.cat.categories if dataset.task == "classification" else ()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / FILE
        learner.save(path)
        content = path.read_bytes()
    description = Description(
        kind="stream",
        columns=describe(dataset.features),
        classes=tuple(classes),
        options=options,
        shift=shift,
    )
    return StreamModel(description, content), None


def read(description: Description, folder: Path) -> StreamModel:
    """The model of a saved folder."""
    return StreamModel(description, (folder / FILE).read_bytes())


def _opened(content: bytes) -> Workspace:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / FILE
        path.write_bytes(content)
        options = ["--quiet", "--testonly", "--initial_regressor", str(path)]
        return Workspace(arg_list=options)


def _schema(n_features: int, options: StreamOptions) -> Schema:
    nothing = np.empty((0, n_features), dtype=np.float32)
    spaces = namespaces(n_features, options.namespaces)
    return stream_schema(Stream(nothing, nothing[:, 0], spaces, names=()))
