"""What a person tries first where more than two classes come: chances for those that came."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from leaseboard.algorithms.reference.forecaster import Doubles, Floats, Forecaster


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
