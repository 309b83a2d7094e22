"""Classifiers of a selection, untrained, each on one thread; and ordinary ones.

`ORDINARY` are the candidates by default. Each predicts probabilities, and suits some tables of
mixed columns: linear ones where rows are few, forests and boosted trees where columns act
together, a network where they do so smoothly. They are few, because a choice among many similar
ones costs samples and gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.trials import recipes

_BATCHES_A_CALL = 100
"""A call of `partial_fit` costs several gradient steps by itself, so it gets many of them."""

ORDINARY: tuple[Parameters, ...] = (
    {"learner": "LogisticRegression", "C": 0.01, "max_iter": 200},
    {"learner": "LogisticRegression", "C": 1.0, "max_iter": 200},
    {"learner": "LogisticRegression", "C": 100.0, "max_iter": 200},
    {"learner": "RandomForest", "n_estimators": 100, "min_samples_leaf": 1},
    {"learner": "RandomForest", "n_estimators": 100, "min_samples_leaf": 10},
    {"learner": "LightGBM", "n_estimators": 50, "num_leaves": 7, "learning_rate": 0.1},
    {"learner": "LightGBM", "n_estimators": 100, "num_leaves": 31, "learning_rate": 0.1},
    {"learner": "LightGBM", "n_estimators": 200, "num_leaves": 15, "learning_rate": 0.03},
    {"learner": "NeuralNetwork", "width": 32, "learning_rate_init": 0.003, "steps": 1500},
)
"""As `build` takes them."""


def build(parameters: Parameters, seed: int) -> Any:
    """Return the classifier of `parameters`, whose ``learner`` names its kind.

    - `parameters`: as `leaseboard.tasks.evaluate.learners.candidates.draw_configurations` draws
      them.
    - `seed`: for the learner's own randomness.
    """
    values = {name: value for name, value in parameters.items() if name != "learner"}
    learner = str(parameters.get("learner", ""))
    if learner not in _LEARNERS:
        raise unknown("learner", learner, _LEARNERS)
    estimator, fixed = _LEARNERS[learner]
    try:
        return recipes.build(estimator, fixed | values, 0, seed)
    except TypeError as error:  # a parameter that it does not have
        raise UsageError(f"learner {learner}: {error}") from error


@dataclass(eq=False, repr=False)
class FixedStepNetwork(ClassifierMixin, BaseEstimator):
    """scikit-learn's `MLPClassifier`, trained by Adam for `steps` batches.

    The rows are taken in order and from the start again, as often as it takes; so a sample of
    a thousand rows is seen many times, and of three million rows perhaps only a part.

    - `width`, `depth`: units of a hidden layer, and hidden layers.
    - `alpha`: L2 penalty.
    - `batch_size`: rows of a gradient step.
    """

    width: int = 16
    depth: int = 1
    activation: str = "relu"
    alpha: float = 1e-4
    learning_rate_init: float = 1e-3
    batch_size: int = 128
    steps: int = 1500
    random_state: int = 0

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> Self:
        """Take `steps` gradient steps over the rows of `X`."""
        rows = len(y)
        batch = min(self.batch_size, rows)
        self.network_ = MLPClassifier(
            hidden_layer_sizes=(self.width,) * self.depth,
            activation=self.activation,
            alpha=self.alpha,
            learning_rate_init=self.learning_rate_init,
            batch_size=batch,
            random_state=self.random_state,
        )
        self.classes_ = np.unique(y)
        start, left = 0, self.steps
        while left:
            taken = min(left, _BATCHES_A_CALL)
            part = np.arange(start, start + taken * batch) % rows
            self.network_.partial_fit(X[part], y[part], classes=self.classes_)
            start = (start + taken * batch) % rows
            left -= taken
        return self

    def predict(self, X: NDArray[np.float32]) -> NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.network_.predict(X))


_LEARNERS: dict[str, tuple[str, Parameters]] = {
    "LogisticRegression": ("sklearn.linear_model:LogisticRegression", {}),
    "LinearSVM": ("sklearn.svm:LinearSVC", {"dual": False}),
    "LightGBM": (
        "lightgbm:LGBMClassifier",
        {**recipes.LIGHTGBM, "force_row_wise": True},
    ),
    "EpochsNetwork": ("sklearn.neural_network:MLPClassifier", {}),
    "NaiveBayes": ("sklearn.naive_bayes:GaussianNB", {}),
    "NeuralNetwork": (f"{__name__}:FixedStepNetwork", {}),
    "RandomForest": ("sklearn.ensemble:RandomForestClassifier", {"n_jobs": 1}),
    "SigmoidSVM": ("sigmoid_svm", {}),
}
"""Of each kind the recipe or class, see `recipes.build`, and its fixed parameters."""
