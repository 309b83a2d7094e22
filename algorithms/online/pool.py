"""Models side by side in one block of arrays, so that one compiled loop can train them all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import Handle, array_at, handle_of, pointer
from leaseboard.algorithms.online.kernel import Doubles, Floats, Integers
from leaseboard.algorithms.online.kernel_learner import KernelLearner, rescale
from leaseboard.algorithms.online.layout import Layout, layouts
from leaseboard.algorithms.online.losses import RANGE, SQUARED
from leaseboard.algorithms.online.schema import Schema

Slots = NDArray[np.int64]

MOST_LAYOUTS = 256
"""Layouts that a pool keeps, beside those of its models: the last ones that it was asked for."""


class Pool:
    """Slots for `n_slots` kernel models over one schema.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    loss : int
        Of all its models, one of `leaseboard.algorithms.online.losses`.

    Attributes
    ----------
    tables : ndarray of float32, shape (n_slots, max_cells, 4)
        Weight, adaptive sum, largest value and rate of each cell.
    sums : ndarray of float64, shape (n_slots, 2)
    labels : ndarray of float32, shape (n_slots, 2)
    rates : ndarray of float32, shape (n_slots,)
        Learning rates.
    factors : ndarray of int32, shape (n_slots, max_terms, max_order)
    cells : ndarray of int32, shape (n_slots, max_terms)
    n_terms : ndarray of int64, shape (n_slots,)
        0 in an empty slot.
    plain : ndarray of bool, shape (n_slots,)
        Whether each term of a model has a cell of its own, in the order of the terms.
    values, places : ndarray, shape (max_terms,)
        Scratch space of the kernel.
    outputs : ndarray of float32, shape (n_slots,)
        Scratch space for what each model predicts.
    learning, predicting : tuple of ndarray
        What the kernel's loops take of these, in the order of their arguments.
    handle : ndarray of int64
        What loops over a single example take, see `open_pool`; the same array for good.
    """

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        self.schema, self.loss = schema, loss
        self.layouts: list[Layout | None] = [None] * n_slots
        self.configurations: list[VWConfiguration | None] = [None] * n_slots
        self.tables = np.zeros((n_slots, 0, 4), dtype=np.float32)
        self.sums = np.zeros((n_slots, 2), dtype=np.float64)
        self.labels = np.zeros((n_slots, 2), dtype=np.float32)
        self.rates = np.zeros(n_slots, dtype=np.float32)
        self.factors = np.full((n_slots, 0, 2), -1, dtype=np.int32)
        self.cells = np.zeros((n_slots, 0), dtype=np.int32)
        self.n_terms = np.zeros(n_slots, dtype=np.int64)
        self.plain = np.zeros(n_slots, dtype=np.bool_)
        self.values = np.zeros(0, dtype=np.float32)
        self.places = np.zeros(0, dtype=np.int32)
        self.outputs = np.zeros(n_slots, dtype=np.float32)
        self._layouts: dict[Hashable, Layout] = {}
        self.handle = np.zeros((10, 4), dtype=np.int64)
        self._gather_arrays()

    def _gather_arrays(self) -> None:
        """Keep the arrays that learning and predicting take, in the order of their arguments."""
        terms, scratch = (self.factors, self.cells, self.n_terms), (self.values, self.places)
        models = (self.tables, self.sums, self.labels, self.rates, self.loss)
        self.learning = (*models, *terms, self.plain, *scratch)
        self.predicting = (self.tables, self.labels, *terms, *scratch)
        self.handle[:] = handle_of(*models[:-1], *terms, *scratch, self.outputs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._gather_arrays()  # a copy's are elsewhere

    def start(self, slot: int, configuration: VWConfiguration) -> None:
        """Put a fresh model of `configuration` into `slot`."""
        self.configurations[slot] = configuration
        self._place(slot, self._layout(configuration))
        self.tables[slot] = 0
        self.sums[slot] = 0
        self.labels[slot] = RANGE[self.loss]
        self.rates[slot] = configuration.learning_rate

    def branch(self, slot: int, configuration: VWConfiguration, source: int) -> None:
        """Put a model of `configuration` into `slot` that goes on from the one in `source`.

        Every weight that both have keeps its value and its adaptive state, and so do the sums
        of the normaliser and the range of labels; what only the new model has starts at zero.
        Its predictions equal the source's until it has learned an example.
        """
        self.start(slot, configuration)
        old, new = self.layouts[source], self.layouts[slot]
        assert old is not None
        assert new is not None
        at_old, at_new = old.shared_with(new)
        self.tables[slot, at_new] = self.tables[source, at_old]
        self.sums[slot] = self.sums[source]
        self.labels[slot] = self.labels[source]

    def put(self, slot: int, learner: KernelLearner) -> None:
        """Put a copy of `learner` into `slot`."""
        self.start(slot, learner.configuration)
        self.tables[slot, : len(learner.table)] = learner.table
        self.sums[slot] = learner.sums
        self.labels[slot] = learner.labels

    def rescale(self, slot: int, ratio: float, shift: float) -> None:
        """Let the model in `slot` predict ``ratio * p + shift`` where it predicted p.

        It goes on as if it had learned labels in that unit, at a rate that fits it.
        """
        layout = self.layouts[slot]
        assert layout is not None
        rescale(self.tables[slot], self.labels[slot], layout, ratio, shift)

    def clear(self, slot: int) -> None:
        """Empty `slot`."""
        self.layouts[slot] = None
        self.configurations[slot] = None
        self.n_terms[slot] = 0

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; every weight keeps its place in VW's table."""
        self.schema = schema
        self._layouts.clear()
        for slot, configuration in enumerate(self.configurations):
            old = self.layouts[slot]
            if configuration is None or old is None:
                continue
            weights = self.tables[slot, : len(old.indices)].copy()
            new = self._layout(configuration)
            self._place(slot, new)
            cell_of = {index: cell for cell, index in enumerate(new.indices.tolist())}
            self.tables[slot] = 0
            self.tables[slot, [cell_of[index] for index in old.indices.tolist()]] = weights

    def learner(self, slot: int) -> KernelLearner:
        """A copy of the model in `slot`."""
        configuration = self.configurations[slot]
        if configuration is None:
            raise ValueError(f"slot {slot} is empty: only a live model can be copied")
        learner = KernelLearner(self.schema, configuration, self.loss)
        learner.table[:] = self.tables[slot, : len(learner.table)]
        learner.sums[:] = self.sums[slot]
        learner.labels[:] = self.labels[slot]
        return learner

    def _layout(self, configuration: VWConfiguration) -> Layout:
        """The layout of `configuration`, kept for when it comes back soon."""
        key = configuration.interactions, configuration.namespaces
        layout = self._layouts.pop(key, None) or layouts(self.schema).of(configuration)
        self._layouts[key] = layout
        if len(self._layouts) > MOST_LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        return layout

    def _place(self, slot: int, layout: Layout) -> None:
        """Write `layout` into `slot`."""
        n_terms, order = layout.factors.shape
        self._reserve(n_terms, order, len(layout.indices))
        self.layouts[slot] = layout
        self.factors[slot] = -1
        self.factors[slot, :n_terms, :order] = layout.factors
        self.cells[slot, :n_terms] = layout.cells
        self.n_terms[slot] = n_terms
        self.plain[slot] = n_terms == len(layout.indices)

    def _reserve(self, n_terms: int, order: int, n_cells: int) -> None:
        """Grow the arrays where a layout does not fit."""
        _, have_terms, have_order = self.factors.shape
        have_cells = self.tables.shape[1]
        if n_terms <= have_terms and order <= have_order and n_cells <= have_cells:
            return
        if n_terms > have_terms or order > have_order:
            n_terms, order = max(n_terms, have_terms), max(order, have_order)
            self.factors = _grown(self.factors, (n_terms, order), fill=-1)
            self.cells = _grown(self.cells, (n_terms,), fill=0)
            self.values = np.zeros(n_terms, dtype=np.float32)
            self.places = np.zeros(n_terms, dtype=np.int32)
        if n_cells > have_cells:
            self.tables = _grown(self.tables, (n_cells, 4), fill=0)
        self._gather_arrays()


@njit(cache=True, nogil=True)
def open_pool(
    handle: Handle,
) -> tuple[Floats, Doubles, Floats, Floats, Integers, Integers, Slots, Floats, Integers, Floats]:
    """The tables, sums, labels, rates, factors, cells, n_terms, values, places and outputs."""
    n_slots, n_cells, n_terms, order = handle[0, 1], handle[0, 2], handle[4, 2], handle[4, 3]
    return (
        array_at(pointer(handle[0, 0]), (n_slots, n_cells, 4), np.float32),
        array_at(pointer(handle[1, 0]), (n_slots, 2), np.float64),
        array_at(pointer(handle[2, 0]), (n_slots, 2), np.float32),
        array_at(pointer(handle[3, 0]), (n_slots,), np.float32),
        array_at(pointer(handle[4, 0]), (n_slots, n_terms, order), np.int32),
        array_at(pointer(handle[5, 0]), (n_slots, n_terms), np.int32),
        array_at(pointer(handle[6, 0]), (n_slots,), np.int64),
        array_at(pointer(handle[7, 0]), (n_terms,), np.float32),
        array_at(pointer(handle[8, 0]), (n_terms,), np.int32),
        array_at(pointer(handle[9, 0]), (n_slots,), np.float32),
    )


def _grown(array: NDArray[Any], shape: tuple[int, ...], fill: int) -> NDArray[Any]:
    """A copy of `array` whose rows have `shape`, padded with `fill`."""
    grown = np.full((len(array), *shape), fill, dtype=array.dtype)
    grown[tuple(slice(size) for size in array.shape)] = array
    return grown
