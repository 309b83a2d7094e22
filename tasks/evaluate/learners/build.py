"""From a drawn configuration to an untrained scikit-learn classifier, with one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from algorithms.errors import unknown
from algorithms.events import Parameters
from tasks.evaluate.learners.network import FixedStepNetwork


def build(parameters: Parameters, seed: int) -> Any:
    """The classifier of `parameters`, whose ``learner`` names its kind.

    - `parameters`: as `tasks.evaluate.learners.spaces.draw_configurations` draws them.
    - `seed`: for the learner's own randomness.
    """
    hyperparameters = {name: value for name, value in parameters.items() if name != "learner"}
    learner = str(parameters["learner"])
    if learner not in _LEARNERS:
        raise unknown("learner", learner, _LEARNERS)
    return _LEARNERS[learner](hyperparameters, seed)


def _logistic_regression(hyperparameters: Mapping[str, Any], seed: int) -> Any:
    return LogisticRegression(**hyperparameters, random_state=seed)


def _linear_svm(hyperparameters: Mapping[str, Any], seed: int) -> Any:
    return LinearSVC(**hyperparameters, dual=False, random_state=seed)


def _lightgbm(hyperparameters: Mapping[str, Any], seed: int) -> Any:
    return LGBMClassifier(
        **hyperparameters,
        subsample_freq=1,
        n_jobs=1,
        verbosity=-1,
        random_state=seed,
        deterministic=True,
        force_row_wise=True,
    )


def _neural_network(hyperparameters: Mapping[str, Any], seed: int) -> Any:
    return FixedStepNetwork(**hyperparameters, random_state=seed)


def _random_forest(hyperparameters: Mapping[str, Any], seed: int) -> Any:
    return RandomForestClassifier(**hyperparameters, n_jobs=1, random_state=seed)


_LEARNERS: dict[str, Callable[[Mapping[str, Any], int], Any]] = {
    "LogisticRegression": _logistic_regression,
    "LinearSVM": _linear_svm,
    "LightGBM": _lightgbm,
    "NeuralNetwork": _neural_network,
    "RandomForest": _random_forest,
}
