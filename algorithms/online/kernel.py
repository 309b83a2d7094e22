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
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import Handle, array_at, pointer, quick
from leaseboard.algorithms.transcendental import exp, exp32, log

SQUARED, LOGISTIC = 0, 1
"""The losses as the kernel names them."""

RANGE = {SQUARED: (0.0, 0.0), LOGISTIC: (-50.0, 50.0)}
"""What VW clips predictions to before it has seen a label."""

Place = np.uint64

_ZERO, _ONE, _TWO, _FOUR = (np.float32(k) for k in (0, 1, 2, 4))


@compiled(error_model="numpy")
def gradient_squared(loss: int, prediction: np.float32, label: np.float32) -> np.float32:
    """Return the square of the loss's derivative; 0 if VW's loss is 0, and so no update."""
    if loss == SQUARED:
        error = prediction - label
        if error * error <= _ZERO:
            return _ZERO
        return _FOUR * error * error
    against = exp32(-label * prediction)
    if _ONE + against <= _ONE:
        return _ZERO
    derivative = -label / (_ONE + exp32(label * prediction))
    return derivative * derivative


@compiled(error_model="numpy")
def invariant_update(
    loss: int, prediction: np.float32, label: np.float32, scale: np.float32, per_update: np.float32
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
        decay = _ONE - exp32(-_TWO * scale * per_update)
        return (label - prediction) * decay / per_update
    against = exp32(label * prediction)
    if small:
        return label * scale / (_ONE + against)
    moved = lambert_less(scale * per_update + label * prediction + against)
    return -(label * moved + prediction) / per_update


@compiled(error_model="numpy")
def lambert_less(x: np.float32) -> np.float32:
    """Return ``W(exp(x)) - x`` with W the Lambert function, by VW's one step from a guess.

    Examples
    --------
    >>> round(float(lambert_less(np.float32(0))), 3)
    0.567
    """
    x64 = float(x)
    if x64 >= 1.0:
        w = 0.86 * x64 + 0.01
        residual = x64 - log(w) - w
    else:
        w = exp(0.8 * x64 - 0.65)
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
"""The range that predictions are clipped to, which labels extend (`RANGE` at first)."""

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
    ends : ndarray of int32, shape (n_slots, max_terms)
        The first term after each whose first column is another one.
    n_terms : ndarray of int64, shape (n_slots,)
        0 in an empty slot.
    plain : ndarray of bool, shape (n_slots,)
        Whether each term of a model has a cell of its own, in the order of the terms.
    values, places : ndarray, shape (n_slots, max_terms)
        The active features of the example that each model looked at last, and their cells.
    counts, raws : ndarray, shape (n_slots,)
        How many these are, and the raw prediction.
    work : ndarray of float32, shape (3, max_terms)
        Scratch space for the active features.
    outputs : ndarray of float32, shape (n_slots,)
        Scratch space for what each model predicts.
    """

    tables: Floats
    sums: Doubles
    labels: Floats
    rates: Floats
    factors: Integers
    cells: Integers
    ends: Integers
    n_terms: Slots
    plain: NDArray[np.bool_]
    values: Floats
    places: Integers
    counts: Slots
    raws: Floats
    work: Floats
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
        ends=np.zeros((n_slots, n_terms), dtype=np.int32),
        n_terms=np.zeros(n_slots, dtype=np.int64),
        plain=np.zeros(n_slots, dtype=np.bool_),
        values=np.zeros((n_slots, n_terms), dtype=np.float32),
        places=np.zeros((n_slots, n_terms), dtype=np.int32),
        counts=np.zeros(n_slots, dtype=np.int64),
        raws=np.zeros(n_slots, dtype=np.float32),
        work=np.zeros((3, n_terms), dtype=np.float32),
        outputs=np.zeros(n_slots, dtype=np.float32),
    )


@compiled
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
        array_at(pointer(handle[6, 0]), (n_slots, n_terms), np.int32),
        array_at(pointer(handle[7, 0]), (n_slots,), np.int64),
        array_at(pointer(handle[8, 0]), (n_slots,), np.bool_),
        array_at(pointer(handle[9, 0]), (n_slots, n_terms), np.float32),
        array_at(pointer(handle[10, 0]), (n_slots, n_terms), np.int32),
        array_at(pointer(handle[11, 0]), (n_slots,), np.int64),
        array_at(pointer(handle[12, 0]), (n_slots,), np.float32),
        array_at(pointer(handle[13, 0]), (3, n_terms), np.float32),
        array_at(pointer(handle[14, 0]), (n_slots,), np.float32),
    )


@compiled
def mark_ends(factors: Integers, ends: Integers) -> None:
    """Write the first term after each whose first column is another one."""
    n_terms = len(factors)
    for k in range(n_terms - 1, -1, -1):
        alike = k < n_terms - 1 and factors[k, 0] == factors[k + 1, 0]
        ends[k] = ends[k + 1] if alike else k + 1


@quick
@compiled
def start_model(
    handle: Handle,
    slot: int,
    factors: Integers,
    cells: Integers,
    places: tuple[Slots, Slots],
    rate: float,
    low: float,
    high: float,
    source: Handle,
    parent: int,
    its_places: tuple[Slots, Slots],
) -> None:
    """Put a model into a slot: a new one, or one that goes on from another.

    Parameters
    ----------
    handle : ndarray of int64
        Of a pool with room for it.
    factors, cells : ndarray of int32
        Of its layout.
    places : tuple of ndarray of int64
        Each cell's place in VW's table, and the cells by these.
    rate, low, high : float
        Its learning rate, and the range of labels of a new one.
    source : ndarray of int64
        The pool of the `parent`, a slot whose model it goes on from where they share places in
        VW's table; -1 for none.
    its_places : tuple of ndarray of int64
        The parent's `places`.
    """
    pool, (n_terms, order) = open_pool(handle), factors.shape
    # The layout; terms of a lower order end with -1.
    mark_ends(factors, pool.ends[slot])
    for k in range(n_terms):
        for place in range(pool.factors.shape[2]):
            pool.factors[slot, k, place] = factors[k, place] if place < order else -1
        pool.cells[slot, k] = cells[k]
    pool.n_terms[slot], pool.plain[slot] = n_terms, n_terms == len(places[0])
    pool.rates[slot] = rate
    # What it has learned: nothing, but for what a parent has.
    table, sums, labels = pool.tables[slot], pool.sums[slot], pool.labels[slot]
    for cell in range(len(table)):
        for field in range(RATE + 1):
            table[cell, field] = 0.0
    sums[NORM_SUM] = sums[WEIGHT_SUM] = 0.0
    labels[LOW], labels[HIGH] = low, high
    if parent < 0:
        return
    old = open_pool(source)
    for k in range(2):
        sums[k], labels[k] = old.sums[parent, k], old.labels[parent, k]
    # Both sets of places in order: shared ones meet.
    (own, by_own), (its, by_its), at = places, its_places, 0
    for cell in by_own:
        while at < len(by_its) and its[by_its[at]] < own[cell]:
            at += 1
        if at < len(by_its) and its[by_its[at]] == own[cell]:
            for field in range(RATE + 1):
                table[cell, field] = old.tables[parent, by_its[at], field]


@quick
@compiled
def rescale_live(handle: Handle, live: Slots, ratio: float, shift: float) -> None:
    """Let the `live` models predict ``ratio * p + shift`` where they predicted p."""
    pool, factor = open_pool(handle), np.float32(ratio)
    for slot in live:
        table, labels, constant = pool.tables[slot], pool.labels[slot], 0
        for cell in range(len(table)):
            table[cell, WEIGHT] *= factor
            grown = np.float64(table[cell, ADAPTIVE]) * ratio**2
            table[cell, ADAPTIVE] = min(grown, np.float64(X2_MAX))
        # The shift goes to the constant, the term without a column.
        while pool.factors[slot, constant, 0] >= 0:
            constant += 1
        table[pool.cells[slot, constant], WEIGHT] += np.float32(shift)
        for end in (LOW, HIGH):
            labels[end] = ratio * labels[end] + shift


class Model(NamedTuple):
    """One model, as the steps of learning take it: its part of a `Pool`, with the scratch space.

    Attributes are those of `Pool`, of one slot.
    """

    table: Floats
    sums: Doubles
    labels: Floats
    rate: np.float32
    factors: Integers
    cells: Integers
    ends: Integers
    n_terms: int
    values: Floats
    places: Integers
    work: Floats


@compiled(inline="always")
def model_in(slot: int, pool: Pool) -> Model:
    """Return the model in a slot."""
    return Model(
        pool.tables[slot],
        pool.sums[slot],
        pool.labels[slot],
        pool.rates[slot],
        pool.factors[slot],
        pool.cells[slot],
        pool.ends[slot],
        pool.n_terms[slot],
        pool.values[slot],
        pool.places[slot],
        pool.work,
    )


# The steps are put into their callers: a call with so many arrays takes as long as an example.


@compiled(error_model="numpy", inline="always")
def gather(example: Floats, model: Model) -> int:
    """Write the example's non-zero features and their cells; return their number.

    VW's text parser drops features that are zero, so their interactions vanish with them.
    """
    factors, cells, ends = model.factors, model.cells, model.ends
    values, places = model.values, model.places
    # Unsigned indices are not checked for being negative.
    count, term, n_terms = Place(0), Place(0), Place(model.n_terms)
    while term < n_terms:
        # All terms with the same first column are absent together; -1 is not a column.
        column, end = factors[term, 0], Place(ends[term])
        first = example[Place(column)] if column >= 0 else _ONE
        for k in range(term if first != _ZERO else end, end):
            # Multiply the columns of the term.
            column = factors[k, 1]
            factor = example[Place(column)] if column >= 0 else _ONE
            value, present = first * factor, factor != _ZERO
            for place in range(Place(2), Place(factors.shape[1])):
                column = factors[k, place]
                if column < 0:
                    break
                factor = example[Place(column)]
                value, present = value * factor, present & (factor != _ZERO)
            # Put it among the active features, with its cell; what is absent is overwritten by
            # the next one, for a branch would be guessed wrong half the time.
            values[count], places[count] = value, cells[k]
            count += Place(present)
        term = end
    return int(np.int64(count))


@compiled(error_model="numpy", inline="always")
def inner_product(count: int, model: Model) -> np.float32:
    """Return the raw prediction of `gather`'s features, summed in VW's order."""
    table, values, places = model.table, model.values, model.places
    total = _ZERO
    for feature in range(count):
        total += table[places[feature], WEIGHT] * values[feature]
    return total


@compiled(error_model="numpy")
def clip(raw: np.float32, low: np.float32, high: np.float32) -> np.float32:
    """Return 0 for NaN, else what is clipped to the labels seen: VW's ``finalize_prediction``."""
    if math.isnan(raw):
        return _ZERO
    return min(max(raw, low), high)


@compiled(error_model="numpy", inline="always")
def update(
    count: int,
    prediction: np.float32,
    label: np.float32,
    importance: np.float32,
    model: Model,
    loss: int,
) -> None:
    """Move the weights of `gather`'s features after `prediction` met `label`."""
    table, sums, values, places = model.table, model.sums, model.values, model.places
    rates, norms, moves = model.work[0], model.work[1], model.work[2]
    # Nothing is learned where the loss has no slope.
    squared = importance * gradient_squared(loss, prediction, label)
    if squared == _ZERO:
        return
    for feature in range(count):
        cell = places[feature]
        # Keep a feature within VW's limits.
        x = values[feature]
        x2 = x * x
        if x2 < X2_MIN:
            x = X_MIN if x > _ZERO else -X_MIN
            x2 = X2_MIN
        # Take the gradient into the adaptive sum.
        table[cell, ADAPTIVE] = adaptive = table[cell, ADAPTIVE] + squared * x2
        # A value larger than all before shrinks the weight to the new scale.
        scale = table[cell, NORMALISED]
        magnitude = abs(x)
        if magnitude > scale:
            if scale > _ZERO:
                table[cell, WEIGHT] *= scale / magnitude
            table[cell, NORMALISED] = scale = magnitude
        rates[feature], norms[feature], moves[feature] = adaptive, scale, x2
    # Each feature's rate, the square over the largest value, and how far an update of 1 moves the
    # prediction; apart from the rest, so that registers hold many features.
    for feature in range(count):
        scale, x2 = norms[feature], moves[feature]
        rate = (_ONE / np.sqrt(rates[feature])) * (_ONE / scale)
        rates[feature], moves[feature] = rate, x2 * rate
        # A square beyond float32 counts as the largest value seen, as in VW.
        norms[feature] = x2 / (scale * scale) if x2 <= X2_MAX else _ONE
    # Their sums, in VW's order.
    per_update = norm = _ZERO
    for feature in range(count):
        table[places[feature], RATE] = rates[feature]
        norm += norms[feature]
        per_update += moves[feature]
    # Take the example into the sums of the normaliser.
    sums[NORM_SUM] += np.float64(importance) * np.float64(norm)
    sums[WEIGHT_SUM] += np.float64(importance)
    mean = np.sqrt(np.float32(sums[WEIGHT_SUM]) / np.float32(sums[NORM_SUM]))
    # Find the step that stays short of the label, however important the example is.
    per_update *= mean
    step = invariant_update(loss, prediction, label, model.rate * importance, per_update)
    step *= mean
    # VW replaces an update that is not a number by none.
    if step != _ZERO and not math.isnan(step):
        for feature in range(count):
            cell = places[feature]
            table[cell, WEIGHT] += step * (values[feature] * table[cell, RATE])


@compiled(error_model="numpy")
def look(example: Floats, slot: int, handle: Handle) -> np.float32:
    """Return what the model in a slot predicts, clipped to the labels seen; `take` may follow."""
    pool = open_pool(handle)
    model = model_in(slot, pool)
    count = gather(example, model)
    raw = inner_product(count, model)
    pool.counts[slot], pool.raws[slot] = count, raw
    return clip(raw, model.labels[LOW], model.labels[HIGH])


@compiled(error_model="numpy")
def take(label: np.float32, importance: np.float32, slot: int, handle: Handle, loss: int) -> None:
    """Let the model in a slot learn the example that it looked at last."""
    pool = open_pool(handle)
    model = model_in(slot, pool)
    # VW extends the range with the current label first, then computes its gradient.
    labels = model.labels
    labels[LOW], labels[HIGH] = min(labels[LOW], label), max(labels[HIGH], label)
    prediction = clip(pool.raws[slot], labels[LOW], labels[HIGH])
    update(pool.counts[slot], prediction, label, importance, model, loss)


@compiled(error_model="numpy")
def predict_live(example: Floats, live: Slots, handle: Handle, predictions: Floats) -> None:
    """Write the prediction of each live model for one example; nothing is learned."""
    for slot in live:
        predictions[slot] = look(example, slot, handle)
