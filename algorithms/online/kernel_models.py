"""Models of the kernel in slots, next to each other in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.array_types import Floats, Slots
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import (
    LOGISTIC,
    RANGE,
    SQUARED,
    Pool,
)
from leaseboard.algorithms.online.layout import Layout, layouts
from leaseboard.algorithms.online.placement import learn_block, leave_lanes, predict_one
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import fill_array

LOSSES = {"regression": SQUARED, "classification": LOGISTIC}
"""The loss that each task is learned with; classes are labelled -1 and 1."""


class KernelModels:
    """Models in numbered slots, next to each other in arrays; bit-identical to Vowpal Wabbit's.

    A prediction is clipped to the labels learned before, and `learn` writes the predictions that
    were due before learning.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    loss : int
        Of all its models, `SQUARED` or `LOGISTIC`.

    Attributes
    ----------
    pool : Pool
        The models, once they have left the lanes (`leave_lanes`); the same object for good.
    layouts : list of Layout or None
        Of each slot.
    """

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        self.schema, self.loss, self._layouts = schema, loss, layouts(schema)
        self.configurations: list[VWConfiguration | None] = [None] * n_slots
        self.layouts: list[Layout | None] = [None] * n_slots
        self.pool = Pool(n_slots)

    def leave_lanes(self) -> None:
        """Put models that are in lanes back into their slots, where all but such examples go."""
        leave_lanes(self.pool)

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`.

        Parameters
        ----------
        slot : int
        configuration : VWConfiguration
        parent : int, optional
            The slot of a model whose weights and state the new one starts with; what only the
            new one has starts at zero, so predictions are the parent's until it learns. The
            configuration must have all its interactions.
        """
        self._start(slot, configuration, self, parent)

    def stop(self, slot: int) -> None:
        """Empty `slot`."""
        self.leave_lanes()
        self.layouts[slot] = self.configurations[slot] = None
        self.pool.n_terms[slot] = 0

    def copy(self, slot: int) -> KernelModels:
        """Return a copy of the model in `slot` by itself."""
        other = KernelModels(self.schema, 1, self.loss)
        other._start(0, self.configuration(slot), self, slot)
        return other

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; every weight keeps its place in VW's table."""
        live = [slot for slot, one in enumerate(self.configurations) if one is not None]
        models = [self.copy(slot) for slot in live]
        self.schema, self._layouts = schema, layouts(schema)
        for slot, model in zip(live, models, strict=True):
            self._start(slot, model.configuration(0), model, 0)

    def extend(self, slot: int, configuration: VWConfiguration) -> None:
        """Let the model in `slot` go on as one of `configuration`, which has all that it has."""
        self._start(slot, configuration, self.copy(slot), 0)

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, live: Slots, out: Floats
    ) -> None:
        """Let the models in the `live` slots learn a block, of contiguous arrays.

        Their progressive predictions are written into ``out[:, live]``.
        """
        learn_block(examples, labels, importances, live, self.pool, self.loss, out)

    def predict(self, example: Floats, live: Slots, out: Floats) -> None:
        """Write into ``out[live]`` what the live models predict for one example."""
        predict_one(example, live, self.pool, out)

    def rescale(self, live: Slots, ratio: float, shift: float) -> None:
        """Let the `live` models predict ``ratio * p + shift`` where they predicted p.

        They go on as if they had learned labels in that unit, at a rate that fits it.
        """
        self.leave_lanes()
        self.pool.rescale(live, ratio, shift)

    def state(self, slot: int) -> dict[str, Any]:
        """Return the model's cells, the sums of its normaliser, its range of labels."""
        return {name: array.copy() for name, array in self._arrays(slot).items()}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        self.start(slot, configuration)
        for name, array in self._arrays(slot).items():
            fill_array(array, state[name])

    def configuration(self, slot: int) -> VWConfiguration:
        """Return the configuration of the model in `slot`; raise ValueError if it is empty."""
        found = self.configurations[slot]
        if found is None:
            raise ValueError(f"slot {slot} is empty: only a live model has a configuration")
        return found

    def _arrays(self, slot: int) -> dict[str, NDArray[Any]]:
        """Return what the model in `slot` learns."""
        self.leave_lanes()
        pool, n_cells = self.pool, len(self._layout_at(slot).indices)
        parts = {"table": pool.tables[slot][:n_cells], "sums": pool.sums[slot]}
        parts["labels"] = pool.labels[slot]
        return {name: np.asarray(part) for name, part in parts.items()}

    def _layout_at(self, slot: int) -> Layout:
        layout = self.layouts[slot]
        assert layout is not None, f"slot {slot} is empty"
        return layout

    def _start(
        self, slot: int, configuration: VWConfiguration, source: KernelModels, parent: int | None
    ) -> None:
        """Put a model into `slot`, for which all arrays grow where it does not fit."""
        self.leave_lanes()
        source.leave_lanes()
        layout = self._layouts.of(configuration)
        its = None if parent is None else source._layout_at(parent)
        self.configurations[slot], self.layouts[slot] = configuration, layout
        known = () if parent is None else (source.pool, parent, its)
        self.pool.start(slot, layout, configuration.learning_rate, *RANGE[self.loss], *known)


class Learner:
    """A model by itself, the only one of `models`; it has learned nothing.

    Examples
    --------
    >>> model = Learner(Schema(("a",), ((0, 1),), ("0", "1")), VWConfiguration())
    >>> examples = np.tile(np.float32([1, 2]), (3, 1))
    >>> [f"{each:.3f}" for each in model.learn_many(examples, np.float32([3, 3, 3]))]
    ['0.000', '0.752', '1.216']
    """

    def __init__(
        self, schema: Schema, configuration: VWConfiguration, task: str = "regression"
    ) -> None:
        self.models, self._live = KernelModels(schema, 1, LOSSES[task]), np.zeros(1, np.int64)
        self.models.start(0, configuration)

    def learn_many(
        self, examples: Floats, labels: Floats, importances: Floats | None = None
    ) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        weights = np.ones(len(labels), np.float32) if importances is None else importances
        out = np.empty((len(labels), 1), dtype=np.float32)
        self.models.learn(examples, labels, weights, self._live, out)
        return out[:, 0]

    def predict_many(self, examples: Floats) -> Floats:
        """Return the predictions for a block, of which nothing is learned, shape (n_examples,)."""
        out = np.empty((len(examples), 1), dtype=np.float32)
        for example, said in zip(examples, out, strict=True):
            self.models.predict(example, self._live, said)
        return out[:, 0]
