"""A lineage at a moment, as a model that MLflow keeps and serves, and that learns no more."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.tasks.keep.living import Living, Recipe, living
from leaseboard.tasks.keep.rows import Values, row_reader
from leaseboard.tasks.models.columns import Column
from leaseboard.tasks.models.continued import LEVEL, Told
from leaseboard.tasks.models.saved import Description, SavedModel

FILE = "lineage"


class Snapshot(SavedModel):
    """What a lineage has learned, behind the interface of all registered models.

    - `content`: what `made` is when it is dumped.
    """

    needs = (
        *("leaseboard", "mlflow", "numba", "numpy", "pandas"),
        *("scikit-learn", "lightgbm", "skops"),
    )

    def __init__(self, description: Description, made: Living, content: bytes) -> None:
        super().__init__(description)
        self.living = made
        self.read = row_reader(description.columns)
        self._content = content
        self._dates = tuple(each.name for each in description.columns if each.kind == "date")
        self._lock = threading.Lock()  # a server forecasts from many threads, no lineage can

    def foresee(self, rows: Sequence[Values], level: float = LEVEL) -> list[Told]:
        """What the lineage forecasts of rows as the state of a keep has them."""
        with self._lock:
            return self.living.foresee_rows(rows, self._dates, level)

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        told = self.foresee([self.read(row) for row in rows.to_dict("records")])
        if self.description.classes:
            code = {name: number for number, name in enumerate(self.description.classes)}
            return np.array([code[max(each, key=each.get)] for each in told])  # type: ignore[union-attr, arg-type]
        return np.array([each[0] if isinstance(each, list) else each for each in told])

    def _save(self, folder: Path) -> None:
        (folder / FILE).write_bytes(self._content)


def snapshot_of(
    name: str, recipe: Recipe, columns: tuple[Column, ...], content: bytes
) -> Snapshot:
    """A snapshot of the lineage called `name`, whose state is `content`."""
    made = living(name, recipe, content)
    lineage = {"name": name, "recipe": dataclasses.asdict(recipe)}
    return Snapshot(
        Description(kind="lineage", columns=columns, classes=made.classes, lineage=lineage),
        made,
        made.at_rest(content),
    )


def read(description: Description, folder: Path) -> Snapshot:
    """The snapshot of a saved folder; UsageError if it is none of this version."""
    assert description.lineage is not None
    content = (folder / FILE).read_bytes()
    recipe = Recipe(**description.lineage["recipe"])
    return Snapshot(description, living(description.lineage["name"], recipe, content), content)
