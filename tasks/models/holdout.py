"""apple and its baselines as a model: how columns become features, and the learner's arrays."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms import plain
from algorithms.apple.learner import Learner
from algorithms.apple.saved import learner_of, state_of
from algorithms.errors import UsageError
from tasks.benches.holdout import Options, indicated, target_range
from tasks.fetch import Dataset
from tasks.models.columns import describe
from tasks.models.encoding import Encoding
from tasks.models.saved import Description, SavedModel

FILE, FORMAT = "learner.npz", "leaseboard-apple-1"


class HoldoutModel(SavedModel):
    """Predicts as the learner did on the test rows.

    Parameters
    ----------
    description : Description
        With an `encoding`.
    learner : Learner
    """

    def __init__(self, description: Description, learner: Learner) -> None:
        super().__init__(description)
        assert description.encoding is not None
        self._encoding = description.encoding
        self._learner = learner
        self._lock = threading.Lock()  # predicting leaves marks in a hashed table

    def outputs(self, rows: pd.DataFrame) -> NDArray[np.float32]:
        """The learner's own predictions for typed rows, shape (n_rows,)."""
        features = self._encoding.rows(rows)
        with self._lock:
            return self._learner.predict(features)

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        outputs = self.outputs(rows)
        if self.description.classes:
            return np.asarray(outputs > 0)
        low, high = self._encoding.target or (0.0, 1.0)
        return low + outputs.astype(np.float64) * (high - low)

    def _save(self, folder: Path) -> None:
        plain.write(folder / FILE, state_of(self._learner), FORMAT)


def fitted(dataset: Dataset, options: Options, seed: int, learner: Any) -> HoldoutModel:
    """The model of a run's `learner` on the hold-out that `options` and `seed` make of `dataset`.

    Raises
    ------
    UsageError
        If the run left no learner of ours, or learned from text.
    """
    if not isinstance(learner, Learner):
        raise UsageError(
            "the run left no model: only apple, linear, quadratic, cubic and their like can be"
            " registered"
        )
    features = dataset.features.drop(columns=list(options.drop))
    try:
        known = describe(features)
    except ValueError as error:
        raise UsageError(f"{dataset.reference}: {error}") from error
    head = features.iloc[: options.max_rows]
    values = [indicated(column, options) for _, column in head.items()]
    encoding = Encoding(
        values=tuple(None if one is None else tuple(one.tolist()) for one in values),
        refuses_missing=options.missing == "refuse",
        target=target_range(dataset, options, seed) if options.scale_target else None,
    )
    description = Description(
        kind="holdout", columns=known, classes=_classes(dataset, options), encoding=encoding
    )
    return HoldoutModel(description, learner)


def read(description: Description, folder: Path) -> HoldoutModel:
    """The model of a saved folder; UsageError if its file is damaged."""
    try:
        return HoldoutModel(description, learner_of(plain.read(folder / FILE, FORMAT)))
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise UsageError(
            f"{str(folder / FILE)!r} holds no learner of this version: register the model anew"
        ) from error


def _classes(dataset: Dataset, options: Options) -> tuple[str, ...]:
    """The names of the classes labelled -1 and 1; several that share a label are one."""
    if dataset.task == "regression":
        return ()
    names = [str(name) for name in dataset.target.cat.categories]
    positive = set(options.positive) or {names[1]}
    sides = [[n for n in names if n not in positive], [n for n in names if n in positive]]
    return tuple(" or ".join(side) for side in sides)
