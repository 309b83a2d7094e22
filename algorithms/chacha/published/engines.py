"""The inner loop "advance until something must be decided", twice: in numba and over VW."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.chacha.published.state import (
    CONFIGURATION,
    DUE,
    N_CONTROLS,
    N_SLOT_COLUMNS,
    Control,
    Slots,
    needs_decision,
    observe,
    select,
)
from leaseboard.algorithms.online import lanes
from leaseboard.algorithms.online.engine import LOSSES, EngineName, choose_engine
from leaseboard.algorithms.online.handles import Handle, array_at, entry, handle_of, pointer
from leaseboard.algorithms.online.kernel import Doubles, Floats, Integers, gather, learn, predict
from leaseboard.algorithms.online.lane_update import evaluate, learn_group
from leaseboard.algorithms.online.live import (
    KernelModels,
    LiveModels,
    SingleCalls,
    WorkspaceModels,
    open_pool,
)
from leaseboard.algorithms.online.schema import Schema


class Engine(LiveModels):
    """The live models of a race, which learn until the race's state calls for a decision."""

    @abstractmethod
    def advance(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        predictions: Floats,
        slots: Slots,
        control: Control,
    ) -> int:
        """Predict and learn examples until a decision is due; return how many were learned.

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        labels, importances : ndarray of float32, shape (n_examples,)
        predictions : ndarray of float32, shape (n_examples,)
            Filled with the progressive predictions of the models that `select` names.
        slots, control
            The race's state, updated in place.
        """

    def single_calls(self, row: Floats, slots: Slots, control: Control) -> SingleCalls:
        """See `Race.single_calls`; for as long as the caller keeps all arrays."""

        def learn(label: float, importance: float) -> bool:
            labels, importances, predictions = np.array(
                [[label], [importance], [0.0]], dtype=np.float32
            )
            self.advance(row[None], labels, importances, predictions, slots, control)
            return bool(control[DUE])

        return partial(self.forecast, row, slots, control), learn

    @abstractmethod
    def forecast(self, example: Floats, slots: Slots, control: Control) -> float:
        """What the model that `select` names predicts; nothing is learned."""


class KernelEngine(KernelModels, Engine):
    """All live models in one compiled loop."""

    def advance(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        predictions: Floats,
        slots: Slots,
        control: Control,
    ) -> int:
        """Predict and learn examples until a decision is due; return how many were learned."""
        learned: int = advance(
            uniform(examples),
            uniform(labels),
            uniform(importances),
            predictions,
            slots,
            control,
            self.pool.outputs,
            *self.pool.learning,
        )
        return learned

    def single_calls(self, row: Floats, slots: Slots, control: Control) -> SingleCalls:
        """See `Race.single_calls`; for as long as the caller keeps all arrays."""
        handle = handle_of(row, slots, control, self.pool.handle)
        predict, learn = entry(predict_row, handle), entry(learn_row, handle, 0, 1.0, 1.0)
        return partial(predict, handle), partial(learn, handle, self.pool.loss)

    def forecast(self, example: Floats, slots: Slots, control: Control) -> float:
        """What the model that `select` names predicts; nothing is learned."""
        return predict_selected(uniform(example), slots, control, self.pool.handle)


@njit(cache=True, nogil=True, error_model="numpy")
def advance(
    examples: Floats,
    labels: Floats,
    importances: Floats,
    predictions: Floats,
    slots: Slots,
    control: Control,
    outputs: Floats,
    tables: Floats,
    sums: Doubles,
    ranges: Floats,
    rates: Floats,
    loss: int,
    factors: Integers,
    cells: Integers,
    n_terms: NDArray[np.int64],
    plain: NDArray[np.bool_],
    values: Floats,
    places: Integers,
) -> int:
    """Example by example: select, let all live models predict and learn, observe."""
    live, n_live = np.empty(len(slots), dtype=np.int64), 0
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] >= 0:
            live[n_live] = slot
            n_live += 1
    share = lanes.share_of_values(examples)
    beside, alone = lanes.split(live[:n_live], n_terms, plain, len(examples), share)
    groups = lanes.enter(beside, tables, ranges, rates, factors, n_terms)
    learned = 0
    for t in range(len(labels)):
        predictor = select(slots, control)
        for models in groups:
            evaluate(examples[t], models)
            learn_group(labels[t], importances[t], loss, models, sums, outputs)
        for slot in alone:
            count = gather(examples[t], factors[slot], cells[slot], n_terms[slot], values, places)
            outputs[slot] = learn(
                tables[slot],
                sums[slot],
                ranges[slot],
                rates[slot],
                loss,
                values,
                places,
                count,
                labels[t],
                importances[t],
            )
        predictions[t] = outputs[predictor] if predictor >= 0 else 0
        observe(slots, control, labels[t], outputs)
        control[DUE] = needs_decision(slots, control)
        learned = t + 1
        if control[DUE] != 0:
            break
    lanes.leave(groups, tables, ranges, n_terms)
    return learned


@njit(cache=True)
def _open(handle: Handle) -> tuple[Floats, Slots, Control, Handle]:
    """The row, the slots, the control and the pool's own handle."""
    return (
        array_at(pointer(handle[0, 0]), (handle[0, 1],), np.float32),
        array_at(pointer(handle[1, 0]), (handle[1, 1], N_SLOT_COLUMNS), np.float64),
        array_at(pointer(handle[2, 0]), (N_CONTROLS,), np.float64),
        array_at(pointer(handle[3, 0]), (handle[3, 1], handle[3, 2]), np.int64),
    )


@njit(cache=True, error_model="numpy")
def learn_row(handle: Handle, loss: int, label: float, importance: float) -> bool:
    """`advance` by one example, one model after the other; say whether a decision is due."""
    example, slots, control, pool = _open(handle)
    tables, sums, ranges, rates, factors, cells, n_terms, values, places, outputs = open_pool(pool)
    target: Any = np.float32(label)
    weight = np.float32(importance)
    select(slots, control)
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] >= 0:
            count = gather(example, factors[slot], cells[slot], n_terms[slot], values, places)
            outputs[slot] = learn(
                tables[slot],
                sums[slot],
                ranges[slot],
                rates[slot],
                loss,
                values,
                places,
                count,
                target,
                weight,
            )
    observe(slots, control, target, outputs)
    control[DUE] = needs_decision(slots, control)
    return bool(control[DUE] != 0)


@njit(cache=True, error_model="numpy")
def predict_row(handle: Handle) -> float:
    """`predict_selected` for the example in the row."""
    return predict_selected(*_open(handle))


@njit(cache=True, nogil=True, error_model="numpy")
def predict_selected(example: Floats, slots: Slots, control: Control, pool: Handle) -> float:
    """The prediction of the model that `select` names; 0 if it names none."""
    slot = select(slots, control)
    if slot < 0:
        return 0.0
    tables, _, ranges, _, factors, cells, n_terms, values, places, _ = open_pool(pool)
    count = gather(example, factors[slot], cells[slot], n_terms[slot], values, places)
    return float(predict(tables[slot], ranges[slot], values, places, count))


class WorkspaceEngine(WorkspaceModels, Engine):
    """The same loop in Python, over real VW workspaces with any further options."""

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...] = ()) -> None:
        super().__init__(schema, n_slots, options)
        self._outputs = np.zeros(n_slots, dtype=np.float32)

    def advance(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        predictions: Floats,
        slots: Slots,
        control: Control,
    ) -> int:
        """Predict and learn examples until a decision is due; return how many were learned."""
        live = [(slot, one) for slot, one in enumerate(self._learners) if one is not None]
        for t, (example, label) in enumerate(zip(examples, labels.tolist(), strict=True)):
            predictor = select(slots, control)
            built = self._builder.build(example, label, float(importances[t]))
            for slot, learner in live:
                self._outputs[slot] = learner.learn_built(built, label)
            predictions[t] = self._outputs[predictor] if predictor >= 0 else 0
            observe(slots, control, label, self._outputs)
            control[DUE] = needs_decision(slots, control)
            if control[DUE]:
                return t + 1
        return len(labels)

    def forecast(self, example: Floats, slots: Slots, control: Control) -> float:
        """What the workspace that `select` names predicts; nothing is learned."""
        slot = select(slots, control)
        return self.learner(slot).predict(example) if slot >= 0 else 0.0


def make_engine(
    name: EngineName, schema: Schema, n_slots: int, task: str, vw_options: str = ""
) -> Engine:
    """The engine called `name`, or for "auto" the kernel where it can do the work."""
    chosen, options = choose_engine(name, task, vw_options)
    if chosen == "vw":
        return WorkspaceEngine(schema, n_slots, options)
    return KernelEngine(schema, n_slots, LOSSES[task])
