"""A version of a live model: what it has learned at a moment, and the columns of its contract."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.tasks.live.rows import row_reader
from leaseboard.tasks.models.columns import Column, Values, typed
from leaseboard.tasks.models.model import LEVEL, ModelFile, Prediction, TableModel, load


class Snapshot(TableModel):
    """A live model that learns no more, as MLflow's registry and the server have it.

    - `columns`: the features of the contract.
    - `model`: what it has learned; it is for one thread at a time.
    """

    kind = "snapshot"
    needs = (*TableModel.needs, "scikit-learn", "lightgbm", "skops")

    def __init__(self, columns: Sequence[Column], model: TableModel) -> None:
        super().__init__(columns)
        self.model, self.classes, self.levels = model, model.classes, model.levels
        self.read = row_reader(self.columns)
        model.forget_pending()
        model.dates = tuple(each.name for each in self.columns if each.kind == "date")

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        rows = typed(frame, self.columns).to_dict("records")
        found = self.predict_rows([self.read(row) for row in rows])
        if self.classes:
            return np.array([max(each, key=each.get) for each in found], dtype=object)  # type: ignore[union-attr, arg-type]
        return np.array([each[0] if isinstance(each, list) else each for each in found])

    def predict_rows(
        self, rows: Sequence[Values], level: float = LEVEL, ids: Sequence[str] = ()
    ) -> list[Prediction]:
        """See `TableModel.predict_rows`; nothing is remembered."""
        return self.model.predict_rows(rows, level)

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return {"model": self.model.dump()}

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        return cls(file.columns, load(file.state["model"], file.name))
