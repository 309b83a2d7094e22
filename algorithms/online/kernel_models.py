"""Models of the kernel in slots, each with its configuration and its layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import (
    ADAPTIVE,
    HIGH,
    INVERSE,
    LANES,
    LOGISTIC,
    RANGE,
    SQUARED,
    WEIGHT,
    Pool,
)
from leaseboard.algorithms.online.layout import Layout, cells_in, layouts
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import fill_array

LOSSES = {"regression": SQUARED, "classification": LOGISTIC}
"""The loss that each task is learned with; classes are labelled -1 and 1."""

State = dict[str, NDArray[Any]]
"""What a model has learned: the cells of its ``table``, the ``sums`` of its normaliser, and the
range of its ``labels``."""

_NOTHING = np.zeros((0, 2), np.int32), np.zeros(0, np.int32)
"""The factors of an empty slot, and the terms in the cells before."""

_NO_CELLS = np.zeros((0, INVERSE), np.float32)


class KernelModels(Pool):
    """Models in numbered slots; bit-identical to Vowpal Wabbit's.

    A prediction is clipped to the labels learned before.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    loss : int
        Of all its models, `SQUARED` or `LOGISTIC`.

    Attributes
    ----------
    configurations : list of VWConfiguration or None
        Of each slot.
    layouts : list of Layout or None
        Of each slot.

    Examples
    --------
    >>> models = KernelModels(Schema(("a",), ((0, 1),), ("0", "1")), n_slots=1)
    >>> models.start(0, VWConfiguration())
    >>> examples, found = np.tile(np.float32([1, 2]), (3, 1)), np.empty((3, 1), np.float32)
    >>> models.learn_many(examples, np.float32([3, 3, 3]), np.ones(3, np.float32), found)
    >>> [f"{each:.3f}" for each in found[:, 0]]
    ['0.000', '0.752', '1.216']
    """

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        super().__init__(n_slots, loss)
        self.configurations: list[VWConfiguration | None] = [None] * n_slots
        self.layouts: list[Layout | None] = [None] * n_slots
        self.grow(schema)

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`.

        Parameters
        ----------
        slot : int
        configuration : VWConfiguration
        parent : int, optional
            The slot of a model whose weights and state the new one starts with, maybe the same;
            what only the new one has starts at zero, so predictions are the parent's until it
            learns. The configuration must have all its interactions.
        """
        known = None if parent is None else (self.layout(parent), self.state(parent))
        self._put(slot, configuration, known)

    def stop(self, slot: int) -> None:
        """Empty `slot`."""
        self.layouts[slot] = self.configurations[slot] = None
        self.lay_out(slot, *_NOTHING, 0.0)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; every weight keeps its place in VW's table."""
        known = [
            (slot, one, (self.layout(slot), self.state(slot)))
            for slot, one in enumerate(self.configurations)
            if one is not None
        ]
        self.schema, self._layouts = schema, layouts(schema)
        self.put(values=np.ones(2 + schema.n_features, np.float32))
        self.values[0] = np.nan
        for each in known:
            self._put(*each)

    def rescale(self, ratio: float, shift: float) -> None:
        """Let all models predict ``ratio * p + shift`` where they predicted p.

        They go on as if they had learned labels in that unit, at a rate that fits it.
        """
        most = np.finfo(np.float32).max
        for slot, layout in enumerate(self.layouts):
            if layout is not None:
                state = self.state(slot)
                weights, adaptive = state["table"][:, WEIGHT], state["table"][:, ADAPTIVE]
                weights *= np.float32(ratio)
                adaptive[:] = np.minimum(adaptive * np.float64(ratio * ratio), most)
                # The shift goes to the constant, the term without a column.
                weights[layout.cells[layout.factors[:, 0] < 0]] += np.float32(shift)
                state["labels"][:] = ratio * state["labels"].astype(np.float64) + shift
                self.write(slot, layout.cells, *state.values())

    def state(self, slot: int) -> State:
        """Return what the model in `slot` has learned."""
        (group, lane), layout = divmod(slot, LANES), self.layout(slot)
        table = np.zeros((len(layout.indices), INVERSE), np.float32)
        table[layout.cells] = self.terms[group, : len(layout.cells), :INVERSE, lane]
        return {
            "table": table,
            "sums": self.sums[group, :, lane].copy(),
            "labels": self.once[group, : HIGH + 1, lane].copy(),
        }

    def restore(self, slot: int, configuration: VWConfiguration, state: State) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        self.start(slot, configuration)
        own = self.state(slot)
        for name, array in own.items():
            fill_array(array, state[name])
        self.write(slot, self.layout(slot).cells, *own.values())

    def layout(self, slot: int) -> Layout:
        """Return the layout of the model in `slot`, which is not empty."""
        layout = self.layouts[slot]
        assert layout is not None, f"slot {slot} is empty"
        return layout

    def _put(
        self, slot: int, configuration: VWConfiguration, known: tuple[Layout, State] | None
    ) -> None:
        """Put a model into `slot` that goes on from what is `known`, if anything is."""
        layout = self._layouts.of(configuration)
        self.configurations[slot], self.layouts[slot] = configuration, layout
        self.reserve(*layout.factors.shape)
        self.lay_out(slot, layout.factors, layout.before, configuration.learning_rate)
        if known is None:
            cells = np.full(len(layout.cells), -1, np.int32)
            self.write(slot, cells, _NO_CELLS, (0.0, 0.0), RANGE[self.loss])
        else:
            self.write(slot, cells_in(known[0], layout), *known[1].values())
