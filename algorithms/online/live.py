"""The live models of a race, behind one interface for both engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import Handle, array_at, handle_of, pointer
from leaseboard.algorithms.online.kernel import RANGE, SQUARED, Doubles, Floats, Integers
from leaseboard.algorithms.online.lane_update import learn_live, predict_live
from leaseboard.algorithms.online.layout import Layout, layouts
from leaseboard.algorithms.online.learner import KernelLearner, Learner, rescale
from leaseboard.algorithms.online.schema import Schema, require_same_naming
from leaseboard.algorithms.plain import fill

if TYPE_CHECKING:
    from leaseboard.algorithms.online.workspace import WorkspaceLearner


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
        Of all its models, one of `leaseboard.algorithms.online.kernel`.

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


SingleCalls = tuple[Callable[[], float], Callable[[float, float], bool]]
"""What predicts the example in a row, and what learns it: see `Race.single_calls`."""


class LiveModels(ABC):
    """Numbered slots that hold one model each."""

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
        """ValueError if a new namespace of `schema` would be taken for an earlier one."""

    @abstractmethod
    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns, see `require_same_naming`."""

    @abstractmethod
    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """Let the models in the `live` slots learn a block.

        Their progressive predictions are written into ``predictions[:, live]``.
        """

    @abstractmethod
    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """Write into ``predictions[live]`` what the live models predict for one example."""

    @abstractmethod
    def learner(self, slot: int) -> Learner:
        """The model in `slot`, to be kept after the race."""

    @abstractmethod
    def state(self, slot: int) -> dict[str, Any]:
        """What the model in `slot` has learned, as arrays and bytes."""

    @abstractmethod
    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""


class KernelModels(LiveModels):
    """Models of the numba kernel."""

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        self.pool = Pool(schema, n_slots, loss)

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`, a branch of `parent` if there is one."""
        if parent is None:
            self.pool.start(slot, configuration)
        else:
            self.pool.branch(slot, configuration, parent)

    def stop(self, slot: int) -> None:
        """Empty `slot`."""
        self.pool.clear(slot)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns."""
        self.pool.grow(schema)

    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """One compiled loop over all live models."""
        learn_live(
            uniform(examples), uniform(labels), uniform(importances), live, *self.pool.learning,
            predictions,
        )  # fmt: skip

    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """One compiled loop over all live models."""
        predict_live(uniform(example), live, *self.pool.predicting, predictions)

    def rescale(self, live: Slots, ratio: float, shift: float) -> None:
        """Go on with labels y in the place of which ``ratio * y + shift`` is learned.

        The `live` models predict the same in the new unit.
        """
        for slot in live.tolist():
            self.pool.rescale(slot, ratio, shift)

    def extend(self, slot: int, configuration: VWConfiguration) -> None:
        """Let the model in `slot` go on as one of `configuration`, which has all that it has."""
        self.pool.put(slot, self.pool.learner(slot).over(self.pool.schema, configuration))

    def learner(self, slot: int) -> Learner:
        """A copy of the model in `slot`."""
        return self.pool.learner(slot)

    def state(self, slot: int) -> dict[str, Any]:
        """The model's cells, the sums of its normaliser, its range of labels."""
        learner = self.pool.learner(slot)
        return {"table": learner.table, "sums": learner.sums, "labels": learner.labels}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        learner = KernelLearner(self.pool.schema, configuration, self.pool.loss)
        fill(learner, state, ("table", "sums", "labels"))
        self.pool.put(slot, learner)


class WorkspaceModels(LiveModels):
    """Real VW workspaces; they branch by way of model files."""

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...] = ()) -> None:
        from leaseboard.algorithms.online.workspace import ExampleBuilder

        self.schema = schema
        self.options = options
        self._builder = ExampleBuilder(schema)
        self._learners: list[WorkspaceLearner | None] = [None] * n_slots

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new workspace into `slot`, a branch of `parent` if there is one."""
        from leaseboard.algorithms.online.workspace import WorkspaceLearner

        if parent is None:
            self._learners[slot] = WorkspaceLearner(
                self.schema, configuration, self.options, self._builder
            )
        else:
            self._learners[slot] = self._at(parent).branch(configuration)

    def stop(self, slot: int) -> None:
        """Close the workspace in `slot`."""
        self._at(slot).close()
        self._learners[slot] = None

    def require_same_naming(self, schema: Schema) -> None:
        """See `LiveModels.require_same_naming`."""
        require_same_naming(self.schema, schema)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; VW's table has room for them already."""
        from leaseboard.algorithms.online.workspace import ExampleBuilder

        self.require_same_naming(schema)
        self.schema = schema
        self._builder = ExampleBuilder(schema)
        for learner in self._learners:
            if learner is not None:
                learner.grow(schema, self._builder)

    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """Every example is built once and learned by each workspace in turn."""
        triples = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for t, (row, label, importance) in enumerate(triples):
            built = self._builder.build(row, label, importance)
            for slot in live.tolist():
                predictions[t, slot] = self._at(slot).learn_built(built, label)

    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """Each workspace predicts in turn."""
        for slot in live.tolist():
            predictions[slot] = self._at(slot).predict(example)

    def learner(self, slot: int) -> Learner:
        """The workspace in `slot`."""
        return self._at(slot)

    def state(self, slot: int) -> dict[str, Any]:
        """VW's model file, and the range of labels."""
        learner = self._at(slot)
        return {"model": learner.content(), "labels": learner.labels}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        from leaseboard.algorithms.online.workspace import WorkspaceLearner

        fresh = WorkspaceLearner(self.schema, configuration, self.options, self._builder)
        fill(fresh, state, ("labels",))
        fresh.replace(state["model"])
        self._learners[slot] = fresh

    def _at(self, slot: int) -> WorkspaceLearner:
        learner = self._learners[slot]
        assert learner is not None, f"slot {slot} is empty"
        return learner
