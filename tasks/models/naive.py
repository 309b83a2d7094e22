"""Naive baselines of a live model: the running mean, and the last label."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import (
    LEVEL,
    ModelFile,
    Prediction,
    TableModel,
    predicting,
)

NAIVE_BASELINES = ("running-mean", "last-label")
"""What a live model must beat."""


class NaiveModel(TableModel):
    """Mean of the labels so far, of classes their shares; or the last label.

    - `name`: one of `NAIVE_BASELINES`.
    - `seen`: the sum and the count of the labels, or the count of each class.
    """

    kind = "naive"

    def __init__(self, name: str, task: str, seen: dict[str, float] | None = None) -> None:
        super().__init__()
        self.name, self.task, self.seen = name, task, seen or {}

    @predicting()
    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        found = self.predict_rows([{}] * len(frame))
        if self.task == "regression":
            return np.asarray(found, dtype=np.float64)
        return np.array([max(each, key=each.get) for each in found], dtype=object)  # type: ignore[union-attr, arg-type]

    @predicting()
    def predict_rows(
        self, rows: Sequence[Values], level: float = LEVEL, ids: Sequence[str] = ()
    ) -> list[Prediction]:
        """See `TableModel.predict_rows`; all rows are alike."""
        seen = self.seen
        if not seen:
            return []
        if self.task == "regression":
            return [seen["sum"] / seen["count"]] * len(rows)
        total = sum(seen.values())
        return [{name: count / total for name, count in seen.items()}] * len(rows)

    def learn(self, rows: Sequence[Values], labels: Sequence[Any], ids: Sequence[str]) -> None:
        """See `TableModel.learn`."""
        if not len(labels):
            return
        if self.name == "last-label":
            labels, self.seen = labels[-1:], {}
        seen = Counter(self.seen)
        if self.task == "regression":
            total = float(np.sum(np.asarray(labels, dtype=np.float64)))
            seen.update({"sum": total, "count": len(labels)})
        else:
            seen.update(sorted(map(str, labels)))
        self.seen = {name: float(count) for name, count in seen.items()}

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return {"name": self.name, "task": self.task, "seen": self.seen}

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        return cls(**file.state)
