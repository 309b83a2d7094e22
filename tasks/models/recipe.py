"""Recipes of live models: an algorithm with its settings, and how it learns.

A race of streams goes on from row to row. Others are trained again on a window of rows: searched
by a policy, selected by abc-tight, learned by apple.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.environments.folds import FoldsAlgorithm
from leaseboard.algorithms.environments.holdout import HoldoutAlgorithm
from leaseboard.algorithms.environments.samples import SamplesAlgorithm
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.policies.policy import ArmPolicy
from leaseboard.tasks.models.model import TableModel
from leaseboard.tasks.models.naive import NAIVE_BASELINES, NaiveModel

Task = Literal["regression", "classification"]

LEAST_ROWS = 20
"""Labels that a model is trained on, at least."""

CONFIGURATIONS = "configurations"
"""The setting that names the configurations to select from."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of a model.

    - `algorithm`: a race of streams, such as ``online-automl``, or one that is trained on a
      window.
    - `settings`: of the race; of another see its `_Trainer`.
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
            self._trainer().check()

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
        kind = np.float64 if self.task == "regression" else object
        return self._trainer().train(features, np.asarray(list(labels), dtype=kind))

    def _trainer(self) -> _Trainer:
        outside = registry.file_of(self.algorithm)
        found = object if outside else registry.algorithm_class(self.algorithm)
        if issubclass(found, ArmPolicy):
            return _PolicyTrainer(self)
        if issubclass(found, SamplesAlgorithm | FoldsAlgorithm):
            return _SelectionTrainer(self)
        if issubclass(found, HoldoutAlgorithm):
            from leaseboard.algorithms.apple.apple import Apple  # it takes a while to load

            if found is Apple:
                return _AppleTrainer(self)
        raise UsageError(
            f"algorithm {self.algorithm!r} cannot be kept: name a race of streams such as"
            " online-automl, a policy over arms such as rising-bandits-cost, abc-tight, or apple"
        )


class _Trainer(ABC):
    """Training of a model on a window of rows."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @abstractmethod
    def check(self) -> None:
        """Raise UsageError for a target or settings with which it cannot be trained."""

    @abstractmethod
    def train(self, features: pd.DataFrame, labels: NDArray[Any]) -> TableModel:
        """Return the model of these rows."""

    def _check_names(self, names: Iterable[str]) -> None:
        """Raise UsageError for a setting that is not among `names`."""
        known = [each for each in names if each not in ("self", "policy", "random_state")]
        for name in self.recipe.settings:
            if name not in known:
                raise unknown(f"setting of {self.recipe.algorithm}", name, known)


class _PolicyTrainer(_Trainer):
    """A policy over arms; its settings are those of `AutoMLClassifier` or `AutoMLRegressor`."""

    def check(self) -> None:
        self._estimator().check()

    def train(self, features: pd.DataFrame, labels: NDArray[Any]) -> TableModel:
        from leaseboard.tasks.models.pipeline import PipelineModel

        with warnings.catch_warnings():  # its score is not shown: later rows judge the model
            warnings.filterwarnings("ignore", "column .* holds dates, and rows are shuffled")
            return PipelineModel((), self._estimator().fit(features, labels))

    def _estimator(self) -> Any:
        from leaseboard.tasks.models.automl.estimators import AutoMLClassifier, AutoMLRegressor

        recipe = self.recipe
        kind = AutoMLRegressor if recipe.task == "regression" else AutoMLClassifier
        self._check_names(inspect.signature(kind).parameters)
        return kind(policy=recipe.algorithm, random_state=recipe.seed, **recipe.settings)


class _SelectionTrainer(_Trainer):
    """abc-tight or another that selects a configuration; its settings: see `SelectionSearch`.

    The columns are encoded once, for all configurations: the encoder sees no label.
    """

    _OPTIONS = ("epsilon", "delta", "test_fraction", "initial_rows", "folds", "probe_seconds")

    def check(self) -> None:
        recipe = self.recipe
        if recipe.task == "regression":
            raise UsageError(
                f"the target {recipe.target!r} holds numbers, and {recipe.algorithm} selects by"
                " the accuracy among classes: name apple or rising-bandits-cost, or, if its"
                " numbers are names, make the column a category in the contract"
            )
        self._check_names([*self._OPTIONS, CONFIGURATIONS])
        self._search().check()

    def train(self, features: pd.DataFrame, labels: NDArray[Any]) -> TableModel:
        from sklearn.pipeline import Pipeline

        from leaseboard.tasks.models.automl.budgeted_estimator import refuse_wide
        from leaseboard.tasks.models.pipeline import PipelineModel
        from leaseboard.tasks.preprocess.tables import TableEncoder

        refuse_wide(features)
        encoder = TableEncoder("standard").fit(features)
        found = self._search().fit(encoder.transform(features), labels.astype(str))
        return PipelineModel(
            (), Pipeline([("columns", encoder), ("model", found.best_estimator_)])
        )

    def _search(self) -> Any:
        from leaseboard.tasks.evaluate.learners.classifiers import ORDINARY, classifiers
        from leaseboard.tasks.models.automl.search import SelectionSearch

        recipe = self.recipe
        options = dict(recipe.settings)
        named = options.pop(CONFIGURATIONS, ORDINARY)
        if not isinstance(named, list | tuple):
            raise UsageError(f"{CONFIGURATIONS} is a list of them, and not {named!r}")
        made = classifiers(named, recipe.seed)
        return SelectionSearch(
            made, algorithm=recipe.algorithm, random_state=recipe.seed, **options
        )


class _AppleTrainer(_Trainer):
    """apple; its settings are those of `PolynomialExpansionClassifier`, or of its regressor."""

    def check(self) -> None:
        from leaseboard.tasks.models.apple_model import KINDS

        kind = KINDS[self.recipe.task]
        self._check_names(inspect.signature(kind).parameters)
        kind(**self._settings()).check()

    def train(self, features: pd.DataFrame, labels: NDArray[Any]) -> TableModel:
        from leaseboard.tasks.models.apple_model import AppleModel
        from leaseboard.tasks.models.automl.budgeted_estimator import refuse_wide

        refuse_wide(features, len(features))
        return AppleModel.trained(features, labels, self.recipe.task, self._settings())

    def _settings(self) -> dict[str, Any]:
        name = self.recipe.algorithm
        every = settings_of(registry.build(name))
        preset = {key: every[key] for key in registry.entry(name).settings}  # such as `ssm`
        return {**preset, **self.recipe.settings, "random_state": self.recipe.seed}
