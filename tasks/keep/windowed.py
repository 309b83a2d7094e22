"""What is made anew on a window of rows: searched by a policy, selected by abc, learned by apple.

Each kind checks its settings before it learns, fits an estimator with `predict`, or `classes_` and
perhaps `predict_proba`, and keeps it in one file without pickles.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.benches.folds import FoldsAlgorithm
from leaseboard.algorithms.benches.holdout import HoldoutAlgorithm
from leaseboard.algorithms.benches.samples import SamplesAlgorithm
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.policies.policy import ArmPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leaseboard.tasks.keep.living import Recipe

CONFIGURATIONS = "configurations"
"""The setting that names what is selected from."""


class Windowed(ABC):
    """A kind of model of a window; `recipe`: how it is made."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @abstractmethod
    def check(self) -> None:
        """UsageError for a target or settings with which it cannot be made."""

    @abstractmethod
    def fit(self, features: pd.DataFrame, labels: NDArray[Any]) -> Any:
        """The estimator that these rows give."""

    def dump(self, estimator: Any, path: Path) -> None:
        """Write what `fit` gave."""
        from leaseboard.tasks.models import trusted

        trusted.dump(estimator, path)

    def load(self, path: Path) -> Any:
        """What `dump` wrote."""
        from leaseboard.tasks.models import trusted

        return trusted.load(path)

    def _known(self, names: Iterable[str]) -> None:
        """UsageError for a setting that is none of these."""
        known = [each for each in names if each not in ("self", "policy", "random_state")]
        for name in self.recipe.settings:
            if name not in known:
                raise unknown(f"setting of {self.recipe.algorithm}", name, known)


class PolicyWindow(Windowed):
    """A policy over arms: `leaseboard.tasks.models.automl.estimators`."""

    def check(self) -> None:
        """See `Windowed.check`."""
        self._known(inspect.signature(self._kind()).parameters)

    def fit(self, features: pd.DataFrame, labels: NDArray[Any]) -> Any:
        """See `Windowed.fit`."""
        recipe = self.recipe
        made = self._kind()(recipe.algorithm, random_state=recipe.seed, **recipe.settings)
        return made.fit(features, labels)

    def _kind(self) -> Any:
        from leaseboard.tasks.models.automl.estimators import PolicyClassifier, PolicyRegressor

        return PolicyRegressor if self.recipe.task == "regression" else PolicyClassifier


class SelectionWindow(Windowed):
    """abc, or another one that selects a configuration: `leaseboard.tasks.models.automl.search`.

    The columns are encoded once, for all configurations: the encoder sees no label.
    """

    _OPTIONS = ("epsilon", "delta", "test_fraction", "initial_rows", "folds", "probe_seconds")

    def check(self) -> None:
        """See `Windowed.check`."""
        recipe = self.recipe
        if recipe.task == "regression":
            raise UsageError(
                f"the target {recipe.target!r} holds numbers, and {recipe.algorithm} selects by"
                " the accuracy among classes: name apple or rising-bandits-cost, or, if its"
                " numbers are names, make the column a category in the contract"
            )
        self._known([*self._OPTIONS, CONFIGURATIONS])
        self._search().check()

    def fit(self, features: pd.DataFrame, labels: NDArray[Any]) -> Any:
        """See `Windowed.fit`."""
        from sklearn.pipeline import Pipeline

        from leaseboard.tasks.models.automl.policy_estimator import refuse_wide
        from leaseboard.tasks.preprocess.tables import TableEncoder

        refuse_wide(features)
        encoder = TableEncoder("standard").fit(features)
        found = self._search().fit(encoder.transform(features), labels.astype(str))
        return Pipeline([("columns", encoder), ("model", found.best_estimator_)])

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


class AppleWindow(Windowed):
    """apple on the window: `leaseboard.tasks.models.apple_forecaster`."""

    def check(self) -> None:
        """See `Windowed.check`."""
        from leaseboard.algorithms.apple.classifier import AppleClassifier
        from leaseboard.algorithms.apple.estimator import AppleRegressor

        kind: Any = AppleRegressor if self.recipe.task == "regression" else AppleClassifier
        self._known(inspect.signature(kind).parameters)
        kind(**self._settings()).check()

    def fit(self, features: pd.DataFrame, labels: NDArray[Any]) -> Any:
        """See `Windowed.fit`."""
        from leaseboard.tasks.models.apple_forecaster import AppleForecaster
        from leaseboard.tasks.models.automl.policy_estimator import refuse_wide

        refuse_wide(features)
        return AppleForecaster.fitted(features, labels, self.recipe.task, self._settings())

    def dump(self, estimator: Any, path: Path) -> None:
        """See `Windowed.dump`."""
        estimator.save(path)

    def load(self, path: Path) -> Any:
        """See `Windowed.load`."""
        from leaseboard.tasks.models.apple_forecaster import AppleForecaster

        return AppleForecaster.load(path)

    def _settings(self) -> dict[str, Any]:
        name = self.recipe.algorithm
        every = settings_of(registry.build(name))
        preset = {key: every[key] for key in registry.entry(name).settings}  # such as `ssm`
        return {**preset, **self.recipe.settings, "random_state": self.recipe.seed}


def kind_of(algorithm: str) -> type[Windowed] | None:
    """What makes models of a window by an algorithm; None if nothing does."""
    found = registry.algorithm_class(algorithm)
    if issubclass(found, ArmPolicy):
        return PolicyWindow
    if issubclass(found, SamplesAlgorithm | FoldsAlgorithm):
        return SelectionWindow
    if issubclass(found, HoldoutAlgorithm):
        from leaseboard.algorithms.apple.apple import Apple  # its kernels bring a compiler

        return AppleWindow if found is Apple else None
    return None
