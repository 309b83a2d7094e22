"""Recipes of live models: an algorithm with its settings, and how it learns.

A race of streams goes on from row to row. Others are trained again on a window of rows: searched
by a policy, selected by abc-tight.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.samples import FoldsAlgorithm, SamplesAlgorithm
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.policy import ArmPolicy
from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import (
    LEVEL,
    ModelFile,
    Prediction,
    TableModel,
    likeliest,
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
        dtype = np.float64 if self.task == "regression" else object
        return np.array([*map(likeliest, found)], dtype=dtype)

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


Task = Literal["regression", "classification"]

LEAST_ROWS = 20
"""Labels that a model is trained on, at least."""

CONFIGURATIONS = "configurations"
"""The setting that names the configurations to select from."""

OF_SELECTION = (
    "epsilon", "delta", "test_fraction", "initial_rows", "folds", CONFIGURATIONS
)  # fmt: skip
"""Settings of an algorithm that selects one, see `SelectionSearch`."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of a model.

    - `algorithm`: a race of streams, such as ``online-automl``, or one that is trained on a
      window.
    - `settings`: of the race; of another see `_estimator`.
    """

    target: str
    task: Task
    algorithm: str
    settings: Mapping[str, Any]
    seed: int = 0

    @property
    def goes_on(self) -> bool:
        """True if it learns row after row, where others are trained again on a window."""
        if registry.file_of(self.algorithm):  # code of others, which is not run here
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
        from sklearn.pipeline import make_pipeline

        from leaseboard.tasks.models.automl.estimators import AutoMLEstimator
        from leaseboard.tasks.models.automl.policy_search import refuse_wide
        from leaseboard.tasks.models.pipeline import PipelineModel
        from leaseboard.tasks.preprocess.encoders import TableEncoder

        kind = np.float64 if self.task == "regression" else object
        target, estimator = np.asarray(list(labels), dtype=kind), self._estimator()
        if isinstance(estimator, AutoMLEstimator):
            with warnings.catch_warnings():  # its score is not shown: later rows judge the model
                warnings.filterwarnings("ignore", "column .* holds dates, and rows are shuffled")
                return PipelineModel((), estimator.fit(features, target))
        refuse_wide(features)
        # Encoded once, for all configurations: the encoder sees no label.
        encoder = TableEncoder("standard").fit(features)
        search = estimator.fit(encoder.transform(features), target.astype(str))
        return PipelineModel((), make_pipeline(encoder, search.best_estimator_))

    def _estimator(self) -> Any:
        """Return what is fitted on a window, by settings that are its parameters.

        - A policy over arms: those of `AutoMLClassifier` or `AutoMLRegressor`.
        - One that selects a configuration, such as abc-tight: see `OF_SELECTION`.
        """
        from leaseboard.tasks.evaluate.learners import ORDINARY, build  # slow to load
        from leaseboard.tasks.models.automl.estimators import AutoMLClassifier, AutoMLRegressor
        from leaseboard.tasks.models.automl.search import SelectionSearch

        name, settings = self.algorithm, dict(self.settings)
        found = object if registry.file_of(name) else registry.algorithm_class(name)
        if issubclass(found, ArmPolicy):
            kind: Any = AutoMLRegressor if self.task == "regression" else AutoMLClassifier
            self._check_names(inspect.signature(kind).parameters)
            return kind(policy=name, random_state=self.seed, **settings)
        if not issubclass(found, SamplesAlgorithm | FoldsAlgorithm):
            raise UsageError(
                f"algorithm {name!r} cannot be kept: name a race of streams such as"
                " online-automl, a policy over arms such as rising-bandits-cost, or abc-tight"
            )
        if self.task == "regression":
            raise UsageError(
                f"the target {self.target!r} holds numbers, and {name} selects by the accuracy"
                " among classes: name rising-bandits-cost, or, if its numbers are names,"
                " make the column a category in the contract"
            )
        self._check_names(OF_SELECTION)
        made = [build(each, self.seed) for each in settings.pop(CONFIGURATIONS, ORDINARY)]
        return SelectionSearch(made, algorithm=name, random_state=self.seed, **settings)

    def _check_names(self, names: Iterable[str]) -> None:
        """Raise UsageError for a setting that is not among `names`."""
        known = [each for each in names if each not in ("self", "policy", "random_state")]
        for name in self.settings:
            if name not in known:
                raise unknown(f"setting of {self.algorithm}", name, known)
