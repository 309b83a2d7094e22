"""Reference predictors: one model without hyperparameters to tune, alone on a stream.

Of two classes at most a predictor predicts numbers, of more the probability of each that came.
What is linear can be saved, served and read by Vowpal Wabbit.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.base import Run, settings_of
from leaseboard.algorithms.environments.stream import StreamAlgorithm, StreamEnvironment, one_model
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import WEIGHT
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema, stream_schema
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

    def model(self, schema: Schema) -> Learner | None:
        """Return a learner that needs no further labels; None if it cannot do without."""
        return None

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
class ReferencePrediction(StreamAlgorithm):
    """Algorithm that is one predictor: nothing is searched, leased or tested."""

    baseline: ClassVar[bool] = True
    many_classes: ClassVar[bool] = True
    predicts_pending: ClassVar[bool] = True

    @property
    def capacity(self) -> int:
        """One model."""
        return 1

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

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Predict the stream; nothing is drawn, so the seed changes nothing."""
        if env.budget == 0:
            return None
        stream = env.stream
        n_features, n_classes = stream.features.shape[1], len(stream.classes) or None
        predictor = self.predictor(n_features, stream.task, n_classes)
        parameters = {"prediction": self.prediction, **settings_of(self)}
        yield from one_model(env, predictor, parameters)
        env.note(predictor.notes())
        return predictor.model(stream_schema(stream))


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


MARGIN = 100.0
"""No margin of a class is clipped below this."""


def linear_model(
    schema: Schema, constant: float, weights: Doubles, low: float, high: float
) -> Learner | None:
    """Return the learner of ``constant + weights · x``, clipped to the labels seen and 0.

    None where two features share a cell of VW's table, which holds one weight.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_features,)

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> model = linear_model(schema, 1.0, np.array([2.0, 3.0]), 0.0, 100.0)
    >>> model.predict([10.0, 20.0]), model.predict([10.0, 99.0])
    (81.0, 100.0)
    """
    models = KernelModels(schema, 1)
    models.start(0, VWConfiguration())
    (layout,) = models.layouts
    assert layout is not None
    if len(layout.indices) < len(layout.cells):
        return None
    values = np.append(weights, constant)  # the constant is the term without factors, -1
    np.asarray(models.pool.tables)[0, layout.cells, WEIGHT] = values[layout.factors[:, 0]]
    models.pool.labels[0, 0], models.pool.labels[0, 1] = low, high
    return Learner(models)
