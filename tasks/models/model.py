"""Models: one protocol, and one file that holds no code.

A model predicts rows of a table: numbers in the target's unit, or classes by name. Those of
streams go on learning. Every model is one file of the format of `leaseboard.algorithms.plain`,
whether `leaseboard learn` writes it, MLflow's registry has it, or the store of a live model. What
River, scikit-learn and MLflow ask for is an adapter of this protocol.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.algorithms.plain import read_content
from leaseboard.tasks.models.columns import Column, Values, frame_of

LEVEL = 0.9
"""Of the intervals around predictions whose labels come later."""

Prediction = float | list[float] | dict[str, float]
"""A number, a number with the ends of its interval, or the probability of each class."""

FILE = "model"
"""The name of a model's file in a folder of its own."""

KINDS = {
    "OnlineAutoMLRegressor": "leaseboard.tasks.models.stream_model:StreamModel",
    "OnlineAutoMLClassifier": "leaseboard.tasks.models.stream_model:StreamModel",
    "ChaChaRegressor": "leaseboard.tasks.models.stream_model:StreamModel",
    "ChaChaClassifier": "leaseboard.tasks.models.stream_model:StreamModel",
    "pipeline": "leaseboard.tasks.models.pipeline:PipelineModel",
    "naive": "leaseboard.tasks.models.recipe:NaiveModel",
    "snapshot": "leaseboard.tasks.live.rows:Snapshot",
}
"""The class of each kind of file. Only that of the file is imported."""


def likeliest(predicted: Prediction) -> Any:
    """Return the number that was predicted, or the likeliest class."""
    if isinstance(predicted, Mapping):
        return max(predicted, key=predicted.__getitem__)
    return predicted[0] if isinstance(predicted, list) else predicted


class ModelFile(NamedTuple):
    """Content of a model's file."""

    name: str
    """What errors call it."""
    kind: str
    columns: tuple[Column, ...]
    state: dict[str, Any]


class TableModel(ABC):
    """A model that predicts rows of a table.

    - `columns`: what it takes, by name; empty where callers give columns as in training.
    """

    kind: ClassVar[str]
    """Of its file, see `KINDS`."""

    classes: tuple[str, ...] = ()
    """Of a classification."""
    levels: tuple[float, ...] = ()
    """Of the intervals that it predicts."""
    dates: Sequence[str] = ()
    """The columns of `predict_rows` and `learn` that hold dates."""

    def __init__(self, columns: Sequence[Column] = ()) -> None:
        self.columns = tuple(columns)

    @abstractmethod
    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Predict rows, shape (n_rows,): numbers, or classes by name."""

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the probability of each class, shape (n_rows, n_classes).

        A class is certain where the model knows no probabilities.
        """
        names = np.array(self.classes, dtype=object)
        return (self.predict(frame)[:, None] == names).astype(np.float64)

    def predict_rows(self, rows: Sequence[Values], ids: Sequence[str] = ()) -> list[Prediction]:
        """Predict rows as JSON has them, with intervals at `LEVEL` or probabilities; see `Values`.

        Empty while nothing has been learned.

        - `ids`: of rows whose labels come later; `learn` finds what was predicted by them.
        """
        frame = frame_of(rows, self.dates)
        if not self.classes:
            return self.predict(frame).tolist()
        shares = self.predict_proba(frame).tolist()
        return [dict(zip(self.classes, row, strict=True)) for row in shares]

    def learn(self, rows: Sequence[Values], labels: Sequence[Any], ids: Sequence[str]) -> None:
        """Learn the labels of rows in their order; UsageError for a model that learns once."""
        raise UsageError(f"a model of kind {self.kind} learns once: train another one")

    def forget_pending(self, ids: Iterable[str] | None = None) -> None:
        """Forget rows that wait for labels: those of `ids`, or all."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return all but `columns` that `restored` needs, as plain values."""

    @classmethod
    @abstractmethod
    def restored(cls, file: ModelFile) -> Self:
        """Return the model whose `state` the file holds."""

    def dump(self) -> bytes:
        """Return the content of its file."""
        columns = [column.model_dump(mode="python") for column in self.columns]
        return plain.dump(self.kind, {"columns": columns, **self.state()})


def load(content: bytes, name: str, rebuild: str = plain.REBUILD) -> TableModel:
    """Return the model of which `TableModel.dump` made `content`; nothing in it is executed.

    - `name`: what an error calls it.
    - `rebuild`: what the user can do about an error.

    Raises UsageError, in one line, for content of another format or version, or a damaged one.
    """
    kind, state = plain.load(content, name, rebuild)
    try:
        module, _, cls = KINDS[kind].partition(":")
        made: type[TableModel] = getattr(importlib.import_module(module), cls)
        columns = tuple(Column(**column) for column in state.pop("columns", ()))
        return made.restored(ModelFile(name, kind, columns, state))
    except UsageError:
        raise
    except plain.UNFIT as error:
        raise plain.damaged(name, rebuild) from error


@contextmanager
def predicting() -> Iterator[None]:
    """Raise UsageError for rows that a model does not fit, or for values that no model has."""
    try:
        yield
    except LeaseboardError:
        raise
    except plain.UNFIT as error:
        said = short(f"{type(error).__name__}: {error}".partition("\n")[0])
        raise UsageError(
            f"the model cannot predict these rows ({said}): give it the columns that it was"
            f" trained on, or {plain.REBUILD}"
        ) from error


def load_file(path: Path, name: str = "") -> TableModel:
    """Return the model in a file, or in a folder with its file, such as MLflow's; see `load`.

    - `name`: what an error calls it; empty: its path.
    """
    name = name or repr(str(path))
    places = [path / FILE, path / "artifacts" / FILE] if path.is_dir() else [path]
    file = next((each for each in places if each.is_file()), places[0])
    return load(read_content(file), name)
