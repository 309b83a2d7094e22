"""Many models of a pool learn the same block of examples."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.online import lanes
from leaseboard.algorithms.online.kernel import Doubles, Floats, Integers, gather, learn, predict
from leaseboard.algorithms.online.lane_update import evaluate, learn_group

Slots = NDArray[np.int64]


@njit(cache=True, nogil=True, error_model="numpy")
def learn_live(
    examples: Floats,
    targets: Floats,
    importances: Floats,
    live: Slots,
    tables: Floats,
    sums: Doubles,
    labels: Floats,
    rates: Floats,
    loss: int,
    factors: Integers,
    cells: Integers,
    n_terms: Slots,
    plain: NDArray[np.bool_],
    values: Floats,
    places: Integers,
    predictions: Floats,
) -> None:
    """Let every live model learn the block in order: side by side if there are many.

    Else one model after the other: a model's table stays in the cache that way, and no model
    depends on another.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, n_features)
    targets, importances : ndarray of float32, shape (n,)
    live : ndarray of int64, shape (n_live,)
        Occupied slots.
    tables, sums, labels, rates, loss, factors, cells, n_terms, plain, values, places
        See `leaseboard.algorithms.online.pool.Pool`.
    predictions : ndarray of float32, shape (n, n_slots)
        Written in the live columns: what each model predicted before it learned the example.
    """
    share = lanes.share_of_values(examples)
    beside, alone = lanes.split(live, n_terms, plain, len(examples), share)
    groups = lanes.enter(beside, tables, labels, rates, factors, n_terms)
    for models in groups:
        for t in range(len(targets)):
            evaluate(examples[t], models)
            learn_group(targets[t], importances[t], loss, models, sums, predictions[t])
    lanes.leave(groups, tables, labels, n_terms)
    for slot in alone:
        terms, homes, count_of = factors[slot], cells[slot], n_terms[slot]
        table, norms, seen, rate = tables[slot], sums[slot], labels[slot], rates[slot]
        for t in range(len(targets)):
            count = gather(examples[t], terms, homes, count_of, values, places)
            predictions[t, slot] = learn(
                table, norms, seen, rate, loss, values, places, count, targets[t], importances[t]
            )


@njit(cache=True, nogil=True, error_model="numpy")
def predict_live(
    example: Floats,
    live: Slots,
    tables: Floats,
    labels: Floats,
    factors: Integers,
    cells: Integers,
    n_terms: Slots,
    values: Floats,
    places: Integers,
    predictions: Floats,
) -> None:
    """Write every live model's prediction for one example; learn nothing."""
    for slot in live:
        count = gather(example, factors[slot], cells[slot], n_terms[slot], values, places)
        predictions[slot] = predict(tables[slot], labels[slot], values, places, count)
