"""A reference forecaster: one model without hyperparameters to tune, alone on a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import plain
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.stream import StreamAlgorithm, StreamBench, require_finite
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    LeaseGranted,
)
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema, stream_schema

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

BLOCK = 4096
"""Examples between two records."""


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

    @abstractmethod
    def forecaster(self, n_features: int, task: str) -> Forecaster:
        """One that has seen nothing.

        Parameters
        ----------
        n_features : int
        task : "regression" or "classification"
        """

    @abstractmethod
    def of_classes(self, n_features: int, n_classes: int) -> Forecaster:
        """One for three and more classes that has seen nothing: it forecasts chances.

        See `leaseboard.algorithms.reference.many_classes.ClassForecaster`. How many will come is
        told for the memory that they take.
        """

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The one configuration, as events tell it."""

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Forecast the stream; nothing is drawn, so the seed changes nothing."""
        stream, budget = bench.stream, bench.budget
        if budget == 0:
            return None
        require_finite(stream, budget)
        n_features = stream.features.shape[1]
        if stream.classes:
            forecaster = self.of_classes(n_features, len(stream.classes))
        else:
            forecaster = self.forecaster(n_features, stream.task)
        yield ConfigurationAdmitted(at=0, configuration=0, parameters=self.parameters())
        yield LeaseGranted(at=0, configuration=0, amount=budget, slot=0)
        yield ChampionChanged(at=0, configuration=0, previous=None)
        for start in range(0, budget, BLOCK):
            rows = slice(start, min(start + BLOCK, budget))
            yield from bench.record(
                forecaster.learn_many(stream.features[rows], stream.labels[rows])
            )
        bench.note(forecaster.notes())
        score = float(bench.score().value)
        yield ConfigurationScored(at=bench.at, configuration=0, value=score, units=budget)
        return forecaster.model(stream_schema(stream))
