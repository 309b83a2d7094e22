"""The live models of a race, behind one interface for both engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import handle_of
from leaseboard.algorithms.online.kernel import (
    RANGE,
    SQUARED,
    Floats,
    Slots,
    empty_pool,
    predict_live,
)
from leaseboard.algorithms.online.lane_update import learn_live
from leaseboard.algorithms.online.layout import Layout, layouts
from leaseboard.algorithms.online.learner import (
    LOSSES,
    EngineName,
    KernelLearner,
    Learner,
    choose_engine,
    rescale,
)
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import fill, values_of

MOST_LAYOUTS = 256
"""Layouts that a pool keeps, beside those of its models: the last ones that it was asked for."""


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
    def state(self, slot: int) -> dict[str, Any]:
        """Return what the model in `slot` has learned, as arrays and bytes."""

    @abstractmethod
    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""


class KernelModels(LiveModels):
    """Models of the numba kernel, side by side in one block of arrays.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    loss : int
        Of all its models, `SQUARED` or `LOGISTIC`.

    Attributes
    ----------
    pool : Pool
        The models.
    handle : ndarray of int64
        What the kernel's loops take of them, see `open_pool`; the same array for good.
    """

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        self.schema, self.loss = schema, loss
        self.layouts: list[Layout | None] = [None] * n_slots
        self.configurations: list[VWConfiguration | None] = [None] * n_slots
        self.pool = empty_pool(n_slots)
        self.handle = handle_of(*self.pool)
        self._layouts: dict[Hashable, Layout] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.handle[:] = handle_of(*self.pool)  # a copy's arrays are elsewhere

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """See `LiveModels.start`; a branch's predictions equal its parent's until it learns."""
        self.configurations[slot] = configuration
        self._place(slot, self._layout(configuration))
        pool = self.pool
        pool.tables[slot] = pool.sums[slot] = 0
        pool.labels[slot], pool.rates[slot] = RANGE[self.loss], configuration.learning_rate
        if parent is not None:
            at_old, at_new = self._layout_at(parent).shared_with(self._layout_at(slot))
            pool.tables[slot, at_new] = pool.tables[parent, at_old]
            pool.sums[slot], pool.labels[slot] = pool.sums[parent], pool.labels[parent]

    def stop(self, slot: int) -> None:
        """Empty `slot`."""
        self.layouts[slot] = self.configurations[slot] = None
        self.pool.n_terms[slot] = 0

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; every weight keeps its place in VW's table."""
        self.schema = schema
        self._layouts.clear()
        for slot, configuration in enumerate(self.configurations):
            old = self.layouts[slot]
            if configuration is None or old is None:
                continue
            weights = self.pool.tables[slot, : len(old.indices)].copy()
            new = self._layout(configuration)
            self._place(slot, new)
            at_old, at_new = old.shared_with(new)
            self.pool.tables[slot] = 0
            self.pool.tables[slot, at_new] = weights[at_old]

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, live: Slots, out: Floats
    ) -> None:
        """One compiled loop over all live models."""
        learn_live(examples, labels, importances, live, self.handle, self.loss, out)

    def predict(self, example: Floats, live: Slots, out: Floats) -> None:
        """One compiled loop over all live models."""
        predict_live(example, live, self.handle, out)

    def rescale(self, live: Slots, ratio: float, shift: float) -> None:
        """Go on with labels y in the place of which ``ratio * y + shift`` is learned.

        The `live` models predict the same in the new unit.
        """
        for slot in live.tolist():
            layout = self._layout_at(slot)
            rescale(self.pool.tables[slot], self.pool.labels[slot], layout, ratio, shift)

    def extend(self, slot: int, configuration: VWConfiguration) -> None:
        """Let the model in `slot` go on as one of `configuration`, which has all that it has."""
        self._put(slot, self.learner(slot).over(self.schema, configuration))

    def learner(self, slot: int) -> KernelLearner:
        """Return a copy of the model in `slot`."""
        configuration = self.configurations[slot]
        if configuration is None:
            raise ValueError(f"slot {slot} is empty: only a live model can be copied")
        learner = KernelLearner(self.schema, configuration, self.loss)
        learner.table[:] = self.pool.tables[slot, : len(learner.table)]
        learner.sums[:], learner.labels[:] = self.pool.sums[slot], self.pool.labels[slot]
        return learner

    def state(self, slot: int) -> dict[str, Any]:
        """Return the model's cells, the sums of its normaliser, its range of labels."""
        return values_of(self.learner(slot), ("table", "sums", "labels"))

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        learner = KernelLearner(self.schema, configuration, self.loss)
        fill(learner, state, ("table", "sums", "labels"))
        self._put(slot, learner)

    def _put(self, slot: int, learner: KernelLearner) -> None:
        self.start(slot, learner.configuration)
        self.pool.tables[slot, : len(learner.table)] = learner.table
        self.pool.sums[slot], self.pool.labels[slot] = learner.sums, learner.labels

    def _layout_at(self, slot: int) -> Layout:
        layout = self.layouts[slot]
        assert layout is not None, f"slot {slot} is empty"
        return layout

    def _layout(self, configuration: VWConfiguration) -> Layout:
        """Return the layout of `configuration`, kept for when it comes back soon."""
        key = configuration.interactions, configuration.namespaces
        layout = self._layouts.pop(key, None) or layouts(self.schema).of(configuration)
        self._layouts[key] = layout
        if len(self._layouts) > MOST_LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        return layout

    def _place(self, slot: int, layout: Layout) -> None:
        """Write `layout` into `slot`, for which all arrays grow where it does not fit."""
        n_terms, order = layout.factors.shape
        n_cells, old = len(layout.indices), self.pool
        most = n_cells, n_terms, order
        have = old.tables.shape[1], *old.factors.shape[1:]
        if any(need > has for need, has in zip(most, have, strict=True)):
            self.pool = empty_pool(len(old.n_terms), *map(max, most, have))
            pairs: Any = zip(old, self.pool, strict=True)
            for was, new in pairs:
                new[tuple(map(slice, was.shape))] = was
            self.handle[:] = handle_of(*self.pool)
        pool, self.layouts[slot] = self.pool, layout
        pool.factors[slot] = -1
        pool.factors[slot, :n_terms, :order] = layout.factors
        pool.cells[slot, :n_terms], pool.n_terms[slot] = layout.cells, n_terms
        pool.plain[slot] = n_terms == n_cells


def make_models(
    name: EngineName, schema: Schema, n_slots: int, task: str, vw_options: str = ""
) -> LiveModels:
    """Slots for models that the engine called `name` trains, see `choose_engine`."""
    chosen, options = choose_engine(name, task, vw_options)
    if chosen == "vw":
        from leaseboard.algorithms.online.workspace import WorkspaceModels  # heavy

        return WorkspaceModels(schema, n_slots, options)
    return KernelModels(schema, n_slots, LOSSES[task])
