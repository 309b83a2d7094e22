"""A fitted model as a folder of files without pickles: JSON beside VW's, arrays or skops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from leaseboard.tasks.models.columns import Column, typed
from leaseboard.tasks.preprocess import StreamOptions

DESCRIPTION = "model.json"


class Description(BaseModel):
    """What a saved model takes and gives."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["stream", "pipeline", "holdout", "lineage"]
    columns: tuple[Column, ...]
    """Raw features, by name."""
    classes: tuple[str, ...] = ()
    """By code; empty for a regression."""
    options: StreamOptions | None = None
    """Of a stream: how features become numbers."""
    encoder: dict[str, Any] | None = None
    """Of a stream: the state of the encoder, see `StreamEncoder.state`."""
    shift: float | None = None
    """Of a stream: the target is the exponential of a prediction, less this."""
    target: tuple[float, float] | None = None
    """Of a hold-out: what the predictions 0 and 1 mean, where the target was scaled."""
    lineage: dict[str, Any] | None = None
    """Of a lineage of a keep: its name and its recipe, see `leaseboard.tasks.keep.living`."""


class SavedModel(ABC):
    """A model that predicts raw rows: numbers of a regression's own unit, or classes by name."""

    needs: ClassVar[tuple[str, ...]]
    """The distributions without which it cannot predict."""

    def __init__(self, description: Description) -> None:
        self.description = description

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The predictions for raw rows, shape (n_rows,); columns are found by name."""
        rows = typed(frame, self.description.columns)
        predictions = self._predict(rows)
        classes = self.description.classes
        if not classes:
            return np.asarray(predictions, dtype=np.float64)
        return np.array(classes, dtype=object)[predictions.astype(np.intp)]

    def save(self, folder: Path) -> None:
        """Write the model into `folder`, which exists."""
        text = self.description.model_dump_json(indent=1)
        (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
        self._save(folder)

    @abstractmethod
    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        """Targets, or codes of classes."""

    @abstractmethod
    def _save(self, folder: Path) -> None:
        """Write what the description does not hold."""
