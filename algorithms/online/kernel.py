"""Vowpal Wabbit's default update rule in numba, bit for bit as the wheel computes it.

The learner is gradient descent on squared loss or, for labels -1 and 1, logistic loss
with importance-invariant, adaptive and normalised steps (VW's ``--invariant --adaptive
--normalized``, its defaults). All arithmetic is float32 in VW's order, without fast math or
contraction, so that every prediction equals VW's; but for the Lambert function of logistic loss,
which VW approximates in double.

A model is a row of four arrays (see `Pool`): cells of
``(weight, adaptive, normalised, rate)``, the sums of the normaliser, the range of the labels,
and a learning rate.

References
----------
.. [1] Karampatziakis and Langford. Online importance weight aware updates. UAI 2011.
       https://arxiv.org/abs/1011.1576
.. [2] Ross, Mineiro, Langford. Normalized online learning. UAI 2013.
       https://arxiv.org/abs/1305.6646
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.online.handles import Handle, array_at, pointer, quick

SQUARED, LOGISTIC = 0, 1
"""The losses as the kernel names them."""

OPTIONS = {SQUARED: (), LOGISTIC: ("--loss_function", "logistic")}
"""What names a loss on VW's command line."""

RANGE = {SQUARED: (0.0, 0.0), LOGISTIC: (-50.0, 50.0)}
"""What VW clips predictions to before it has seen a label."""

_ZERO = np.float32(0)
_ONE = np.float32(1)
_TWO = np.float32(2)
_FOUR = np.float32(4)


@njit(cache=True, nogil=True, error_model="numpy")
def gradient_squared(loss: int, prediction: np.float32, label: np.float32) -> np.float32:
    """The square of the loss's derivative; 0 where VW computes a loss of 0, and so no update."""
    if loss == SQUARED:
        error = prediction - label
        if error * error <= _ZERO:
            return _ZERO
        return _FOUR * error * error
    odds = np.float32(math.exp(-label * prediction))
    if _ONE + odds <= _ONE:
        return _ZERO
    derivative = -label / (_ONE + np.float32(math.exp(label * prediction)))
    return derivative * derivative


@njit(cache=True, nogil=True, error_model="numpy")
def invariant_update(
    loss: int,
    prediction: np.float32,
    label: np.float32,
    scale: np.float32,
    per_update: np.float32,
) -> np.float32:
    """Return the importance-invariant step (Karampatziakis and Langford 2011, table 1).

    Parameters
    ----------
    loss : int
    prediction, label : float32
    scale : float32
        Learning rate times importance.
    per_update : float32
        How much the prediction moves for an update of 1.
    """
    small = scale * per_update < 1e-6  # there VW takes the first term of the series
    if loss == SQUARED:
        if small:
            return _TWO * (label - prediction) * scale
        decay = _ONE - np.float32(math.exp(-_TWO * scale * per_update))
        return (label - prediction) * decay / per_update
    against = np.float32(math.exp(label * prediction))
    if small:
        return label * scale / (_ONE + against)
    moved = lambert_less(scale * per_update + label * prediction + against)
    return -(label * moved + prediction) / per_update


@njit(cache=True, nogil=True, error_model="numpy")
def lambert_less(x: np.float32) -> np.float32:
    """``W(exp(x)) - x`` with W the Lambert function, as VW approximates it: one step from a guess.

    Examples
    --------
    >>> round(float(lambert_less(np.float32(0))), 3)
    0.567
    """
    x64 = float(x)
    if x64 >= 1.0:
        w = 0.86 * x64 + 0.01
        residual = x64 - math.log(w) - w
    else:
        w = math.exp(0.8 * x64 - 0.65)
        residual = 0.2 * x64 + 0.65 - w
    t = 1.0 + w
    u = 2.0 * t * (t + 2.0 * residual / 3.0)
    step = residual / t * (u - residual) / (u - 2.0 * residual)
    return np.float32(w * (1.0 + step) - x64)


WEIGHT, ADAPTIVE, NORMALISED, RATE = 0, 1, 2, 3
"""The fields of a cell."""

NORM_SUM, WEIGHT_SUM = 0, 1
"""The sums that the normaliser averages."""

LOW, HIGH = 0, 1
"""The range that predictions are clipped to, which labels extend (`losses.RANGE` at first)."""

X2_MAX = np.float32(np.finfo(np.float32).max)
X_MIN = np.float32(1.084202e-19)
X2_MIN = X_MIN * X_MIN
"""VW's limits of a feature and of its square."""


Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]
Slots = NDArray[np.int64]


class Pool(NamedTuple):
    """Models in numbered slots, side by side in blocks of arrays.

    Attributes
    ----------
    tables : ndarray of float32, shape (n_slots, max_cells, 4)
        Weight, adaptive sum, largest value and rate of each cell.
    sums : ndarray of float64, shape (n_slots, 2)
        Of the normaliser.
    labels : ndarray of float32, shape (n_slots, 2)
        The range of labels that each model has seen.
    rates : ndarray of float32, shape (n_slots,)
        Learning rates.
    factors : ndarray of int32, shape (n_slots, max_terms, max_order)
        Columns that are multiplied into each term, padded with -1.
    cells : ndarray of int32, shape (n_slots, max_terms)
        Where in its table a term has its weight.
    n_terms : ndarray of int64, shape (n_slots,)
        0 in an empty slot.
    plain : ndarray of bool, shape (n_slots,)
        Whether each term of a model has a cell of its own, in the order of the terms.
    values, places : ndarray, shape (max_terms,)
        Scratch space for the active features of an example and their cells.
    outputs : ndarray of float32, shape (n_slots,)
        Scratch space for what each model predicts.
    """

    tables: Floats
    sums: Doubles
    labels: Floats
    rates: Floats
    factors: Integers
    cells: Integers
    n_terms: Slots
    plain: NDArray[np.bool_]
    values: Floats
    places: Integers
    outputs: Floats


def empty_pool(n_slots: int, n_cells: int = 0, n_terms: int = 0, order: int = 2) -> Pool:
    """Return slots without models, with room for so many cells and terms of each."""
    return Pool(
        tables=np.zeros((n_slots, n_cells, 4), dtype=np.float32),
        sums=np.zeros((n_slots, 2)),
        labels=np.zeros((n_slots, 2), dtype=np.float32),
        rates=np.zeros(n_slots, dtype=np.float32),
        factors=np.full((n_slots, n_terms, order), -1, dtype=np.int32),
        cells=np.zeros((n_slots, n_terms), dtype=np.int32),
        n_terms=np.zeros(n_slots, dtype=np.int64),
        plain=np.zeros(n_slots, dtype=np.bool_),
        values=np.zeros(n_terms, dtype=np.float32),
        places=np.zeros(n_terms, dtype=np.int32),
        outputs=np.zeros(n_slots, dtype=np.float32),
    )


@njit(cache=True, nogil=True)
def open_pool(handle: Handle) -> Pool:
    """Return the pool of a handle."""
    n_slots, n_cells, n_terms, order = handle[0, 1], handle[0, 2], handle[4, 2], handle[4, 3]
    return Pool(
        array_at(pointer(handle[0, 0]), (n_slots, n_cells, 4), np.float32),
        array_at(pointer(handle[1, 0]), (n_slots, 2), np.float64),
        array_at(pointer(handle[2, 0]), (n_slots, 2), np.float32),
        array_at(pointer(handle[3, 0]), (n_slots,), np.float32),
        array_at(pointer(handle[4, 0]), (n_slots, n_terms, order), np.int32),
        array_at(pointer(handle[5, 0]), (n_slots, n_terms), np.int32),
        array_at(pointer(handle[6, 0]), (n_slots,), np.int64),
        array_at(pointer(handle[7, 0]), (n_slots,), np.bool_),
        array_at(pointer(handle[8, 0]), (n_terms,), np.float32),
        array_at(pointer(handle[9, 0]), (n_terms,), np.int32),
        array_at(pointer(handle[10, 0]), (n_slots,), np.float32),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def gather(
    example: Floats,
    factors: Integers,
    cells: Integers,
    n_terms: int,
    values: Floats,
    places: Integers,
) -> int:
    """Write the example's non-zero features into `values` and `places`; return their number.

    VW's text parser drops features that are zero, so their interactions vanish with them.
    """
    count = 0
    order = factors.shape[1]
    for term in range(n_terms):
        # Multiply the columns of the term; -1 ends them.
        value = _ONE
        absent = False
        for place in range(order):
            column = factors[term, place]
            if column < 0:
                break
            factor = example[column]
            if factor == _ZERO:
                absent = True
                break
            value *= factor
        if absent:
            continue
        # Put it among the active features, with its cell.
        values[count] = value
        places[count] = cells[term]
        count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def inner_product(table: Floats, values: Floats, places: Integers, count: int) -> np.float32:
    """Return the raw prediction, summed in VW's order."""
    total = _ZERO
    for feature in range(count):
        total += table[places[feature], WEIGHT] * values[feature]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def clip(raw: np.float32, low: np.float32, high: np.float32) -> np.float32:
    """VW's ``finalize_prediction``: NaN becomes 0, the rest is clipped to the labels seen."""
    if math.isnan(raw):
        return _ZERO
    return min(max(raw, low), high)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def update(
    table: Floats,
    sums: Doubles,
    learning_rate: np.float32,
    loss: int,
    values: Floats,
    places: Integers,
    count: int,
    prediction: np.float32,
    label: np.float32,
    importance: np.float32,
) -> None:
    """Move the weights of the active features after `prediction` met `label`.

    A call would cost a quarter of the time of `learn`.
    """
    # Nothing is learned where the loss has no slope.
    squared = importance * gradient_squared(loss, prediction, label)
    if squared == _ZERO:
        return
    # By how much an update of 1 moves the prediction, and the squares over the largest values.
    per_update = _ZERO
    norm = _ZERO
    for feature in range(count):
        cell = places[feature]
        # Keep a feature within VW's limits.
        x = values[feature]
        x2 = x * x
        if x2 < X2_MIN:
            x = X_MIN if x > _ZERO else -X_MIN
            x2 = X2_MIN
        # Take the gradient into the adaptive sum.
        table[cell, ADAPTIVE] += squared * x2
        # A value larger than all before shrinks the weight to the new scale.
        scale = table[cell, NORMALISED]
        magnitude = abs(x)
        if magnitude > scale:
            if scale > _ZERO:
                table[cell, WEIGHT] *= scale / magnitude
            table[cell, NORMALISED] = scale = magnitude
        # A square beyond float32 counts as the largest value seen, as in VW.
        norm += x2 / (scale * scale) if x2 <= X2_MAX else _ONE
        # The feature's own rate, and how far it moves the prediction.
        rate = (_ONE / np.sqrt(table[cell, ADAPTIVE])) * (_ONE / scale)
        table[cell, RATE] = rate
        per_update += x2 * rate
    # Take the example into the sums of the normaliser.
    sums[NORM_SUM] += np.float64(importance) * np.float64(norm)
    sums[WEIGHT_SUM] += np.float64(importance)
    mean = np.sqrt(np.float32(sums[WEIGHT_SUM]) / np.float32(sums[NORM_SUM]))
    # Find the step that stays short of the label, however important the example is.
    per_update *= mean
    step = invariant_update(loss, prediction, label, learning_rate * importance, per_update)
    step *= mean
    # VW replaces an update that is not a number by none.
    if step != _ZERO and not math.isnan(step):
        for feature in range(count):
            cell = places[feature]
            table[cell, WEIGHT] += step * (values[feature] * table[cell, RATE])


@njit(cache=True, nogil=True, error_model="numpy")
def learn(
    table: Floats,
    sums: Doubles,
    labels: Floats,
    learning_rate: np.float32,
    loss: int,
    values: Floats,
    places: Integers,
    count: int,
    label: np.float32,
    importance: np.float32,
) -> np.float32:
    """Learn one example; return what was predicted before, clipped to the *earlier* labels."""
    raw = inner_product(table, values, places, count)
    before = clip(raw, labels[LOW], labels[HIGH])
    # VW extends the range with the current label first, then computes its gradient.
    labels[LOW] = min(labels[LOW], label)
    labels[HIGH] = max(labels[HIGH], label)
    prediction = clip(raw, labels[LOW], labels[HIGH])
    update(table, sums, learning_rate, loss, values, places, count, prediction, label, importance)
    return before


@njit(cache=True, nogil=True, error_model="numpy")
def learn_block(
    examples: Floats,
    targets: Floats,
    importances: Floats,
    slot: int,
    pool: Pool,
    loss: int,
    predictions: Floats,
) -> None:
    """Let one model learn a block; write its progressive predictions into its own column."""
    factors, cells, n_terms = pool.factors[slot], pool.cells[slot], pool.n_terms[slot]
    table, sums, labels = pool.tables[slot], pool.sums[slot], pool.labels[slot]
    rate, values, places = pool.rates[slot], pool.values, pool.places
    for t in range(len(targets)):
        count = gather(examples[t], factors, cells, n_terms, values, places)
        predictions[t, slot] = learn(
            table, sums, labels, rate, loss, values, places, count, targets[t], importances[t]
        )


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def learn_slot(
    example: Floats, label: np.float32, importance: np.float32, slot: int, pool: Pool, loss: int
) -> None:
    """Let the model in one slot learn an example; write its prediction into `pool.outputs`.

    A call with so many arrays would cost as much as the example.
    """
    values, places = pool.values, pool.places
    count = gather(
        example, pool.factors[slot], pool.cells[slot], pool.n_terms[slot], values, places
    )
    table, sums, labels = pool.tables[slot], pool.sums[slot], pool.labels[slot]
    pool.outputs[slot] = learn(
        table, sums, labels, pool.rates[slot], loss, values, places, count, label, importance
    )


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def predict_slot(example: Floats, slot: int, pool: Pool) -> np.float32:
    """Return the prediction of the model in one slot, clipped to the labels seen."""
    values, places = pool.values, pool.places
    count = gather(
        example, pool.factors[slot], pool.cells[slot], pool.n_terms[slot], values, places
    )
    raw = inner_product(pool.tables[slot], values, places, count)
    return clip(raw, pool.labels[slot, LOW], pool.labels[slot, HIGH])


@quick
@njit(cache=True, nogil=True, error_model="numpy")
def predict_live(example: Floats, live: Slots, handle: Handle, predictions: Floats) -> None:
    """Write the prediction of each live model for one example; nothing is learned."""
    pool = open_pool(handle)
    for slot in live:
        predictions[slot] = predict_slot(example, slot, pool)
