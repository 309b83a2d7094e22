"""A multilayer perceptron that takes a fixed number of gradient steps, whatever the sample."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

_BATCHES_A_CALL = 100
"""A call of `partial_fit` costs several gradient steps by itself, so it gets many of them."""


class FixedStepNetwork(ClassifierMixin, BaseEstimator):
    """scikit-learn's `MLPClassifier`, trained by Adam for `steps` batches.

    The rows are taken in order and from the start again, as often as it takes; so a sample of
    a thousand rows is seen many times, and of three million rows perhaps only a part.

    - `width`, `depth`: units of a hidden layer, and hidden layers.
    - `alpha`: L2 penalty.
    - `batch_size`: rows of a gradient step.
    """

    def __init__(
        self,
        width: int = 16,
        depth: int = 1,
        activation: str = "relu",
        alpha: float = 1e-4,
        learning_rate_init: float = 1e-3,
        batch_size: int = 128,
        steps: int = 1500,
        random_state: int = 0,
    ) -> None:
        self.width = width
        self.depth = depth
        self.activation = activation
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.steps = steps
        self.random_state = random_state

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
        """The class of each row."""
        return np.asarray(self.network_.predict(X))
