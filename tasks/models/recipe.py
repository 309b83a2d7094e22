"""Recipes of live models: an algorithm with its settings, and how it learns.

A race of streams goes on from row to row. A model that a policy searches is trained again on a
window of rows.
"""

import inspect
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.policy import ArmPolicy
from leaseboard.tasks.fetch.dataset import Task
from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import ModelFile, Prediction, TableModel, likeliest

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

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        found = self.predict_rows([{}] * len(frame))
        dtype = np.float64 if self.task == "regression" else object
        return np.array([*map(likeliest, found)], dtype=dtype)

    def predict_rows(self, rows: Sequence[Values], ids: Sequence[str] = ()) -> list[Prediction]:
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


LEAST_ROWS = 20
"""Labels that a model is trained on, at least."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of a model.

    - `algorithm`: a race of streams, such as ``online-automl``, or a policy over arms, by which a
      model is trained on a window.
    - `settings`: of the race; with a policy those of `AutoMLClassifier` or `AutoMLRegressor`.
    """

    target: str
    task: Task
    algorithm: str
    settings: Mapping[str, Any]
    seed: int = 0

    @property
    def goes_on(self) -> bool:
        """True if it learns row after row, where others are trained again on a window."""
        if registry.files_of(self.algorithm):  # code of others, which is not run here
            return False
        return issubclass(registry.algorithm_class(self.algorithm), Racing)

    def check(self) -> None:
        """Raise UsageError for an algorithm or settings that a live model cannot learn by."""
        if not self.goes_on:
            self._estimator().check()

    def suffices(self, labels: Sequence[Any]) -> bool:
        """Return whether a model can be trained on rows with these labels."""
        one_class = self.task == "classification" and len(set(map(str, labels))) < 2
        return len(labels) >= LEAST_ROWS and (self.goes_on or not one_class)

    def new(self, name: str) -> TableModel:
        """Return a model that has learned nothing and goes on.

        - `name`: a naive baseline, or else the algorithm.
        """
        if name in NAIVE_BASELINES:
            return NaiveModel(name, self.task)
        from leaseboard.tasks.models.stream_model import StreamModel

        return StreamModel.new(self.target, self.task, self.algorithm, self.settings, self.seed)

    def train(self, features: pd.DataFrame, labels: Sequence[Any]) -> TableModel:
        """Return a model of a window of rows, which learns no more."""
        from leaseboard.tasks.models.pipeline import PipelineModel

        kind = np.float64 if self.task == "regression" else object
        target = np.asarray(list(labels), dtype=kind)
        with warnings.catch_warnings():  # its score is not shown: later rows judge the model
            warnings.filterwarnings("ignore", "column .* holds dates, and rows are shuffled")
            return PipelineModel((), self._estimator().fit(features, target))

    def _estimator(self) -> Any:
        """Return what is fitted on a window, by settings that are its parameters."""
        from leaseboard.tasks.models.automl.estimators import (  # slow to load
            AutoMLClassifier,
            AutoMLRegressor,
        )

        name = self.algorithm
        if registry.files_of(name) or not issubclass(registry.algorithm_class(name), ArmPolicy):
            raise UsageError(
                f"algorithm {name!r} cannot be kept: name a race of streams such as"
                " online-automl, or a policy over arms such as rising-bandits-cost"
            )
        estimator: Any = AutoMLRegressor if self.task == "regression" else AutoMLClassifier
        known = inspect.signature(estimator).parameters.keys() - {"policy", "random_state"}
        for setting in self.settings:
            if setting not in known:
                raise unknown(f"setting of {name}", setting, sorted(known))
        return estimator(policy=name, random_state=self.seed, **self.settings)
