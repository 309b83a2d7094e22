"""From a drawn configuration to an untrained scikit-learn classifier, with one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from leaseboard.algorithms.errors import unknown
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.learners.network import FixedStepNetwork


def build(parameters: Parameters, seed: int) -> Any:
    """The classifier of `parameters`, whose ``learner`` names its kind.

    - `parameters`: as `leaseboard.tasks.evaluate.learners.spaces.draw_configurations` draws them.
    - `seed`: for the learner's own randomness.
    """
    hyperparameters = {name: value for name, value in parameters.items() if name != "learner"}
    learner = str(parameters["learner"])
    if learner not in _LEARNERS:
        raise unknown("learner", learner, _LEARNERS)
    return _LEARNERS[learner](**hyperparameters, random_state=seed)


_LEARNERS: dict[str, Callable[..., Any]] = {
    "LogisticRegression": LogisticRegression,
    "LinearSVM": partial(LinearSVC, dual=False),
    "LightGBM": partial(
        LGBMClassifier,
        subsample_freq=1,
        n_jobs=1,
        verbosity=-1,
        deterministic=True,
        force_row_wise=True,
    ),
    "NeuralNetwork": FixedStepNetwork,
    "RandomForest": partial(RandomForestClassifier, n_jobs=1),
}
