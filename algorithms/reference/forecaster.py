"""Reference forecasters: one model without hyperparameters to tune, alone on a stream.

Of two classes at most a forecaster predicts numbers, of more the probability of each that came.
What is linear can be saved, served and read by Vowpal Wabbit.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import plain
from leaseboard.algorithms.base import Run, settings_of
from leaseboard.algorithms.benches.stream import (
    StreamAlgorithm,
    StreamBench,
    one_model,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import WEIGHT
from leaseboard.algorithms.online.learner import KernelLearner, Learner
from leaseboard.algorithms.online.schema import Schema, stream_schema

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Forecaster(ABC):
    """Forecasts each example before it learns its label. Two classes are labelled -1 and 1."""

    @abstractmethod
    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """Learn a block in order; return its progressive forecasts, shape (n_examples,).

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        labels : ndarray of float32, shape (n_examples,)
        """

    def model(self, schema: Schema) -> Learner | None:
        """It as a learner that needs no labels any more; None if it cannot do without."""
        return None

    def notes(self) -> dict[str, float]:
        """What it found, to stand next to its score."""
        return {}

    def grow(self, n_features: int) -> None:
        """Go on with so many features; those that are new were 0 so far."""

    def state(self) -> dict[str, Any]:
        """Return everything that `fill` needs, as plain values."""
        return {
            name: [one.state() for one in part] if isinstance(part, list)
            else part.state() if hasattr(part, "state") else part
            for name, part in vars(self).items()
        }  # fmt: skip

    def fill(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`; ValueError if no such forecaster has it."""
        for name, part in vars(self).items():
            if isinstance(part, list):
                for one, own in zip(part, state[name], strict=True):
                    one.fill(own)
            elif hasattr(part, "state"):
                part.fill(state[name])
            else:
                plain.fill(self, state, [name])


@dataclass(frozen=True, kw_only=True)
class ReferenceForecast(StreamAlgorithm):
    """An algorithm that is one forecaster: nothing is searched, leased or tested."""

    baseline: ClassVar[bool] = True
    many_classes: ClassVar[bool] = True

    @property
    def capacity(self) -> int:
        """One model."""
        return 1

    forecast: ClassVar[str]
    """What it predicts with, in a few words."""

    @abstractmethod
    def forecaster(self, n_features: int, task: str, n_classes: int | None = None) -> Forecaster:
        """One that has seen nothing.

        Parameters
        ----------
        n_features : int
        task : "regression" or "classification"
        n_classes : int, optional
            One for any number of classes, which forecasts chances, see `ClassForecaster`. How many
            will come is told for the memory that they take. Without it there are two at most.
        """

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Forecast the stream; nothing is drawn, so the seed changes nothing."""
        if bench.budget == 0:
            return None
        stream = bench.stream
        n_features, n_classes = stream.features.shape[1], len(stream.classes) or None
        forecaster = self.forecaster(n_features, stream.task, n_classes)
        parameters = {"forecast": self.forecast, **settings_of(self)}
        yield from one_model(bench, forecaster.learn_many, parameters)
        bench.note(forecaster.notes())
        return forecaster.model(stream_schema(stream))


class ClassForecaster(Forecaster):
    """Forecasts chances. Classes are labelled 0, 1, 2, ... in the order in which they come.

    Attributes
    ----------
    n_classes : int
        How many came.
    """

    def __init__(self) -> None:
        self.n_classes = 0

    @abstractmethod
    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """As `Forecaster.learn_many`; returns chances, shape (n_examples, n_classes)."""

    def _meet(self, labels: Floats) -> int:
        """Count the classes, those of a block included."""
        self.n_classes = max(self.n_classes, 1 + int(labels.max()))
        return self.n_classes


def certain(numbers: Floats, n_classes: int) -> Doubles:
    """All chance for the class of each number; none for -1.

    Examples
    --------
    >>> certain(np.float32([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.asarray(numbers[:, None] == np.arange(n_classes), dtype=np.float64)


class Shares(ClassForecaster):
    """The share of each class among the labels so far."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = np.zeros(0)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Forecaster.fill`."""
        self.counts = np.zeros(state["n_classes"])
        super().fill(state)

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """See `ClassForecaster.learn_many`."""
        n_classes = self._meet(labels)
        first = np.pad(self.counts, (0, n_classes - len(self.counts)))
        counts = np.vstack((first, certain(labels, n_classes))).cumsum(axis=0)
        self.counts = counts[-1]
        return np.asarray(counts[:-1] / np.maximum(counts[:-1].sum(axis=1, keepdims=True), 1))


class Certain(ClassForecaster):
    """One class, as a forecaster of labels names it.

    Parameters
    ----------
    forecaster : Forecaster
        Its forecasts are labels that came, but for the first.
    """

    def __init__(self, forecaster: Forecaster) -> None:
        super().__init__()
        self.forecaster = forecaster

    def notes(self) -> dict[str, float]:
        """See `Forecaster.notes`."""
        return self.forecaster.notes()

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """See `ClassForecaster.learn_many`."""
        first = not self.n_classes
        found = np.asarray(self.forecaster.learn_many(examples, labels), dtype=np.float32)
        if first:
            found[0] = -1
        return certain(found, self._meet(labels))


class OneAgainstTheRest(ClassForecaster):
    """A forecaster of two classes for each class against the rest; their chances, scaled to 1.

    One that comes late goes on from what has learned that everything is the rest, which is what
    it would have learned: so it is as if it had been there from the beginning.

    Parameters
    ----------
    rest : Forecaster
        It forecasts log odds, and has seen nothing.
    """

    def __init__(self, rest: Forecaster) -> None:
        super().__init__()
        self.rest = rest
        self.each: list[Forecaster] = []

    def grow(self, n_features: int) -> None:
        """See `Forecaster.grow`."""
        for forecaster in (self.rest, *self.each):
            forecaster.grow(n_features)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Forecaster.fill`."""
        self.each = [copy.deepcopy(self.rest) for _ in range(state["n_classes"])]
        super().fill(state)

    def notes(self) -> dict[str, float]:
        """See `Forecaster.notes`; of what there is for a class that has not come."""
        return self.rest.notes()

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """See `ClassForecaster.learn_many`."""
        margins = np.full((len(labels), self._meet(labels)), -np.inf)
        for k in range(self.n_classes):
            late = k == len(self.each)
            start = int(np.argmax(labels == k)) if late else 0
            if late:
                self.each.append(copy.deepcopy(self.rest))
                own = np.full(start, -1, dtype=np.float32)
                if start:
                    self.each[k].learn_many(examples[:start], own)
            against = np.where(labels[start:] == k, 1, -1).astype(np.float32)
            margins[start:, k] = self.each[k].learn_many(examples[start:], against)
            if late:
                margins[start, k] = -np.inf
        self.rest.learn_many(examples, np.full(len(labels), -1, dtype=np.float32))
        with np.errstate(over="ignore"):
            chances = 1.0 / (1.0 + np.exp(-margins))
        return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))


MARGIN = 100.0
"""No margin of a class is clipped below this."""


def linear_model(
    schema: Schema, constant: float, weights: Doubles, low: float, high: float
) -> KernelLearner | None:
    """The learner that predicts ``constant + weights · x``, clipped to the labels seen and 0.

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
    model = KernelLearner(schema, VWConfiguration())
    layout = model.layout
    if len(layout.indices) < len(layout.cells):
        return None
    values = np.append(weights, constant)  # the constant is the term without factors, -1
    model.table[layout.cells, WEIGHT] = values[layout.factors[:, 0]]
    model.labels[:] = low, high
    return model
