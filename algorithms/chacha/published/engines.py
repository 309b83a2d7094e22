"""The inner loop "advance until something must be decided", twice: in numba and over VW."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.chacha.published.state import (
    CONFIGURATION,
    DUE,
    Control,
    Slots,
    needs_decision,
    observe,
    select,
)
from algorithms.online import lanes
from algorithms.online.engine import LOSSES, EngineName, choose_engine
from algorithms.online.handles import Handle
from algorithms.online.kernel import Doubles, Floats, Integers, gather, learn, predict
from algorithms.online.lane_update import learn_group
from algorithms.online.live import KernelModels, LiveModels, WorkspaceModels
from algorithms.online.pool import open_pool
from algorithms.online.schema import Schema


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

    def advance_one(
        self, example: Floats, label: float, importance: float, slots: Slots, control: Control
    ) -> bool:
        """Learn one example of shape (n_features,); say whether a decision is due."""
        self.advance(
            example[None],
            np.array([label], dtype=np.float32),
            np.array([importance], dtype=np.float32),
            np.empty(1, dtype=np.float32),
            slots,
            control,
        )
        return bool(control[DUE])

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
            examples,
            labels,
            importances,
            predictions,
            slots,
            control,
            self.pool.outputs,
            *self.pool.learning,
        )
        return learned

    def advance_one(
        self, example: Floats, label: float, importance: float, slots: Slots, control: Control
    ) -> bool:
        """Learn one example of shape (n_features,); say whether a decision is due."""
        pool = self.pool
        due: bool = advance_one(example, label, importance, slots, control, pool.loss, pool.handle)
        return due

    def forecast(self, example: Floats, slots: Slots, control: Control) -> float:
        """What the model that `select` names predicts; nothing is learned."""
        return predict_selected(example, slots, control, self.pool.handle)


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
    live = np.flatnonzero(slots[:, CONFIGURATION] >= 0)
    beside, alone = lanes.split(live, n_terms, plain, examples)
    groups = lanes.enter(beside, tables, ranges, rates, factors, n_terms)
    learned = 0
    for t in range(len(labels)):
        predictor = select(slots, control)
        for models in groups:
            learn_group(examples[t], labels[t], importances[t], loss, models, sums, outputs)
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


@njit(cache=True, nogil=True, error_model="numpy")
def advance_one(
    example: Floats,
    label: float,
    importance: float,
    slots: Slots,
    control: Control,
    loss: int,
    pool: Handle,
) -> bool:
    """`advance` by one example, one model after the other; say whether a decision is due."""
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
