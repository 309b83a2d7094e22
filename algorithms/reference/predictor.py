"""Reference predictors: one model without hyperparameters to tune, alone on a stream.

Of two classes at most a predictor predicts numbers, of more the probability of each that came.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.environments.arrays import Doubles, Floats
from leaseboard.algorithms.environments.stream import OneModel, StreamEnvironment
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.transcendental import exp_all


class Predictor(Saved, ABC):
    """Predictor of each example before it learns its label; two classes are -1 and 1."""

    @abstractmethod
    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """Learn a block in order; return its progressive predictions, shape (n_examples,).

        Of any number of classes, which are 0, 1, 2, ... in the order in which they come, return
        probabilities, shape (n_examples, n_classes), of those that came until its end.

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        labels : ndarray of float32, shape (n_examples,)
        """

    @abstractmethod
    def predict_waiting(self, examples: Floats, pending: int) -> Floats | Doubles:
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""

    def notes(self) -> dict[str, float]:
        """Return metrics of what it found, in addition to its score."""
        return {}

    def grow(self, n_features: int) -> None:
        """Go on with so many features; those that are new were 0 so far."""

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        """All attributes, see `Saved`."""
        return tuple(vars(self))


@dataclass(frozen=True, kw_only=True)
class ReferencePrediction(OneModel):
    """Algorithm that is one predictor: nothing is searched, leased or tested."""

    baseline: ClassVar[bool] = True
    prediction: ClassVar[str]
    """What it predicts with, in a few words."""

    @abstractmethod
    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """Return one that has seen nothing.

        Parameters
        ----------
        n_features : int
        task : "regression" or "classification"
        n_classes : int, optional
            One for any number of classes, which predicts probabilities. How many will come matters
            for the memory that they take. Without it there are two at most.
        """

    def model(self, env: StreamEnvironment) -> Predictor:
        """See `OneModel.model`."""
        n_classes = len(env.stream.classes) or None
        return self.predictor(env.stream.features.shape[1], env.stream.task, n_classes)

    def parameters(self) -> Parameters:
        """See `OneModel.parameters`."""
        return {"prediction": self.prediction, **settings_of(self)}


def one_hot(numbers: Floats, n_classes: int) -> Doubles:
    """Return probability 1 for the class of each number; 0 for all classes where it is -1.

    Examples
    --------
    >>> one_hot(np.float32([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.asarray(numbers[:, None] == np.arange(n_classes), dtype=np.float64)


class OneAgainstTheRest(Predictor):
    """Predictor of two classes for each class against the rest; their probabilities, scaled to 1.

    One that comes late goes on from what has learned that everything is the rest, which is what
    it would have learned: so it is as if it had been there from the beginning.

    Parameters
    ----------
    rest : Predictor
        It predicts log odds, and has seen nothing.
    """

    def __init__(self, rest: Predictor) -> None:
        self.rest = rest
        self.each: list[Predictor] = []

    def grow(self, n_features: int) -> None:
        """See `Predictor.grow`."""
        for predictor in (self.rest, *self.each):
            predictor.grow(n_features)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Predictor.fill`."""
        self.each = [copy.deepcopy(self.rest) for _ in state["each"]]
        super().fill(state)

    def notes(self) -> dict[str, float]:
        """See `Predictor.notes`; those of the predictor for a class that has not come."""
        return self.rest.notes()

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """See `Predictor.learn_many`; return probabilities, shape (n_examples, n_classes)."""
        margins = np.full((len(labels), max(len(self.each), 1 + int(labels.max()))), -np.inf)
        for k in range(margins.shape[1]):
            begin = 0
            if k == len(self.each):
                self.each.append(copy.deepcopy(self.rest))
                begin = 1 + int(np.argmax(labels == k))
            against = np.where(labels == k, 1, -1).astype(np.float32)
            margins[begin:, k] = self.each[k].learn_many(examples, against)[begin:]
        self.rest.learn_many(examples, np.full(len(labels), -1, dtype=np.float32))
        return _shares(margins)

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `Predictor.predict_waiting`."""
        margins = [each.predict_waiting(examples, pending) for each in self.each]
        return _shares(np.array(margins, dtype=np.float64).reshape(-1, len(examples)).T)


def _shares(margins: Doubles) -> Doubles:
    """Return the probabilities of log odds, scaled to 1."""
    with np.errstate(over="ignore"):
        found = 1.0 / (1.0 + exp_all(-margins))
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))
