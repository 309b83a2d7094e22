"""Models that learn online, of either engine: many in slots, or one by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import (
    Floats,
    Slots,
)
from leaseboard.algorithms.online.schema import Schema

SingleCalls = tuple[Callable[[], float], Callable[[float, float], bool]]
"""What predicts the example in a row, and what learns it: see `Race.single_calls`."""


class LiveModels(ABC):
    """Numbered slots that hold one model each, as an engine trains them.

    Both engines keep to VW's protocol: a prediction is clipped to the labels learned before, and
    `learn` writes the predictions that were due before learning.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    options : tuple of str
        With which VW trains such models, in addition to those of a configuration.
    """

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...]) -> None:
        self.schema, self.options = schema, options
        self.configurations: list[VWConfiguration | None] = [None] * n_slots

    @abstractmethod
    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`.

        Parameters
        ----------
        slot : int
        configuration : VWConfiguration
        parent : int, optional
            The slot of a model whose weights and state the new one starts with; what only the
            new one has starts at zero. The configuration must have all its interactions.
        """

    @abstractmethod
    def stop(self, slot: int) -> None:
        """Empty `slot`."""

    def require_same_naming(self, schema: Schema) -> None:
        """Raise ValueError if a new namespace of `schema` would be taken for an earlier one."""

    @abstractmethod
    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns, see `require_same_naming`."""

    @abstractmethod
    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, live: Slots, out: Floats
    ) -> None:
        """Let the models in the `live` slots learn a block, of contiguous arrays.

        Their progressive predictions are written into ``out[:, live]``.
        """

    @abstractmethod
    def predict(self, example: Floats, live: Slots, out: Floats) -> None:
        """Write into ``out[live]`` what the live models predict for one example."""

    @abstractmethod
    def learner(self, slot: int) -> Learner:
        """Return the model in `slot`, to be kept after the race."""

    @abstractmethod
    def save(self, slot: int, path: Path) -> None:
        """Write a VW model file whose predictions equal those of the model in `slot`."""

    @abstractmethod
    def state(self, slot: int) -> dict[str, Any]:
        """Return what the model in `slot` has learned, as arrays and bytes."""

    @abstractmethod
    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""

    def configuration(self, slot: int) -> VWConfiguration:
        """Return the configuration of the model in `slot`; raise ValueError if it is empty."""
        found = self.configurations[slot]
        if found is None:
            raise ValueError(f"slot {slot} is empty: only a live model has a configuration")
        return found


class Learner:
    """A model by itself: the one in a slot of `models`.

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> from leaseboard.algorithms.online.engines import make_learner
    >>> model = make_learner("kernel", schema, VWConfiguration())
    >>> for _ in range(3):
    ...     before = model.learn([1.0, 2.0], 3.0)
    >>> round(before, 4), round(model.predict([1.0, 2.0]), 4)
    (1.2159, 1.5518)
    """

    def __init__(self, models: LiveModels, slot: int = 0) -> None:
        self.models, self.slot = models, slot
        self._live = np.array([slot])

    @property
    def schema(self) -> Schema:
        """The columns of its examples."""
        return self.models.schema

    @property
    def configuration(self) -> VWConfiguration:
        """The configuration of its model."""
        return self.models.configuration(self.slot)

    def predict(self, example: ArrayLike) -> float:
        """Return the prediction for one example, an array of shape (n_features,)."""
        out = np.zeros(1 + self.slot, dtype=np.float32)
        self.models.predict(self._row(example), self._live, out)
        return float(out[self.slot])

    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""
        given, weight = np.array([[label], [importance]], dtype=np.float32)
        return float(self._learn(self._row(example)[None], given, weight)[0])

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        return self._learn(examples, labels, np.ones(len(labels), dtype=np.float32))

    def predict_many(self, examples: Floats) -> Floats:
        """Return the predictions for a block, of which nothing is learned, shape (n_examples,)."""
        return np.array([self.predict(example) for example in examples], dtype=np.float32)

    def save(self, path: Path) -> None:
        """Write a VW model file whose predictions equal this model's."""
        self.models.save(self.slot, path)

    def command_line(self) -> str:
        """Return the options with which ``vw`` trains this configuration."""
        return " ".join([*command_options(self.schema, self.configuration), *self.models.options])

    def _learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        block = uniform(examples), uniform(labels), uniform(importances)
        out = np.empty((len(labels), 1 + self.slot), dtype=np.float32)
        self.models.learn(*block, self._live, out)
        return out[:, self.slot]

    def _row(self, example: ArrayLike) -> Floats:
        """Return an example as engines take it; ValueError if it has another length."""
        row = np.ascontiguousarray(example, dtype=np.float32)
        if row.shape != (self.schema.n_features,):
            raise ValueError(
                f"an example of shape {row.shape} given to a model of {self.schema.n_features}"
                " features: pass one value per column"
            )
        return uniform(row)


def command_options(schema: Schema, configuration: VWConfiguration) -> list[str]:
    """Return VW's command line for `configuration`, as tokens.

    VW's ``--interactions`` names namespaces by their first letters. If that is not enough to
    distinguish them, ``--experimental_full_name_interactions`` is used.

    Examples
    --------
    >>> schema = Schema(("a", "b"), ((0,), (1,)), ("0", "1"))
    >>> " ".join(command_options(schema, VWConfiguration((("a", "b"),), 0.25)))
    '--bit_precision 18 --learning_rate 0.25 --interactions ab'
    """
    tokens = ["--bit_precision", str(schema.bits)]
    tokens += ["--learning_rate", repr(configuration.learning_rate)]
    for interaction in schema.ordered(configuration.interactions):
        if schema.full_names:
            tokens += ["--experimental_full_name_interactions", "|".join(interaction)]
        else:
            tokens += ["--interactions", "".join(name[0] for name in interaction)]
    return tokens
