"""VW's update for many models at once, bit for bit as `leaseboard.algorithms.online.kernel` for
each alone.

Live models are independent, so the arithmetic of one term of many models fills the lanes of a
vector register, where that of many terms of one model is a chain of sums.

Notes
-----
LLVM vectorises these loops because all that they touch is at constant distances in one array (no
overlap has to be excluded as they run), indices are unsigned (none is checked for being negative),
and values are selected rather than branched over. Lanes that are off must not compute numbers
below float32's normal ones, which take a hundred cycles each; NaN costs nothing. Each loop is a
function of its own, which LLVM vectorises before it is put into its caller; put there by numba
(``inline="always"``) they take a fifth longer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.online import kernel, lanes
from leaseboard.algorithms.online.handles import Handle, quick
from leaseboard.algorithms.online.kernel import (
    SQUARED,
    X2_MAX,
    X2_MIN,
    X_MIN,
    Doubles,
    Floats,
    gradient_squared,
    invariant_update,
    learn_block,
    open_pool,
)
from leaseboard.algorithms.online.lanes import (
    ADAPTIVE,
    BEFORE,
    COMMON,
    COUNT,
    FACTOR,
    FIRST,
    HIGH,
    INVERSE,
    LANES,
    LEARNING_RATE,
    LOW,
    NORMALISED,
    OCCURS,
    PREDICTION,
    RATE,
    ROW,
    SCRATCH,
    SECOND,
    VALUE,
    WEIGHT,
    WIDTH,
    Group,
    Place,
    Plan,
    Terms,
)

_ZERO, _ONE, _TWO = (np.float32(k) for k in (0, 1, 2))
_NAN = np.float32(np.nan)


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(example: Floats, models: Group) -> None:
    """The values of the distinct terms; NaN for those that VW's parser drops, as in `gather`."""
    distinct, values = models.distinct, models.values
    order = distinct.shape[1]
    for term in range(1, len(values)):
        value = _ONE
        for place in range(order):
            column = distinct[term, place]
            if column < 0:
                break
            factor = example[column]
            value *= factor if factor != _ZERO else _NAN
        values[term] = value


@njit(cache=True, nogil=True, error_model="numpy")
def learn_group(
    label: np.float32,
    importance: np.float32,
    loss: int,
    models: Group,
    sums: Doubles,
    predictions: Floats,
) -> None:
    """Let all models learn the example of `evaluate`; write what they predicted before.

    Parameters
    ----------
    label, importance : float32
    loss : int
        One of `leaseboard.algorithms.online.kernel`.
    models : Group
    sums : ndarray of float64, shape (n_slots, 2)
    predictions : ndarray of float32, shape (n_slots,)
        Written in the slots of the group, clipped to the *earlier* labels.
    """
    group, rows, plan, terms = models.slots, models.rows, models.plan, models.terms
    values = models.values
    n_rows, width = len(plan) - 1, Place(plan[0, WIDTH])
    last = Place(n_rows + 1) * ROW
    # Set the values of the example, row by row.
    row = ROW
    for k in range(n_rows):
        common = plan[k, COMMON]
        if common > 0:
            plan[k, OCCURS] = _fill(rows, row, values[common], Place(plan[k, COUNT]))
        else:
            at, end = Place(k * LANES), Place(plan[k, COUNT])
            plan[k, OCCURS] = _fill_each(rows, row, terms, at, values, end)
        row += ROW
    # Sum the raw predictions, and find the gradients squared.
    _pass(rows, plan, last, _sum_raw, True)
    _look(rows, last, label, importance, loss, width)
    # Hand the gradients to the first row, and the predictions to who asked.
    exceeds = False
    for lane in range(width):
        exceeds |= rows[last + SECOND + lane] > _ZERO
        rows[FACTOR + lane] = rows[last + FACTOR + lane]
    for lane in range(len(group)):
        predictions[group[lane]] = rows[last + BEFORE + Place(lane)]
    # Shrink weights where a value is larger than all before; then sum adaptively.
    if exceeds:
        _pass(rows, plan, last, _widen, False)
    _pass(rows, plan, last, _accumulate, True)
    # Take the norms into the normalisers, and find each model's update.
    for lane in range(len(group)):
        _add_norm(rows, last + Place(lane), sums[group[lane]], importance)
    if loss == SQUARED:
        _set_update(rows, last, label, importance, width)
    else:
        _set_any_update(rows, last, label, importance, loss, width)
    # Move all weights by it.
    for lane in range(width):
        rows[FACTOR + lane] = rows[last + FACTOR + lane]
    _pass(rows, plan, last, _update, False)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _pass(rows: Floats, plan: Plan, last: Place, step: Any, ends: bool) -> None:
    """Take one step in all rows that occur; each sees the sums of the one before it.

    Where a lane `ends` its sums go to the last row.
    """
    row = before = Place(0)
    for k in range(len(plan) - 1):
        row += ROW
        width, left = Place(plan[k, WIDTH]), Place(plan[k + 1, WIDTH])
        if plan[k, OCCURS]:
            if before < row - ROW:  # then the row between does not occur: its place is free
                _hand_over(rows, before, row - ROW, Place(0), width)
            step(rows, row, width)
            before = row
        if ends and left < width:
            _hand_over_sums(rows, before, last, left, width)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(rows: Floats, row: Place, value: np.float32, end: Place) -> bool:
    """Set the value that all lanes have; say whether it is a number."""
    if math.isnan(value):
        return False
    for lane in range(end):
        rows[row + VALUE + lane] = value
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_each(
    rows: Floats, row: Place, terms: Terms, at: Place, values: Floats, end: Place
) -> bool:
    """Set the lanes' values; say whether any is a number."""
    occurs = False
    for lane in range(end):
        value = values[terms[at + lane]]
        rows[row + VALUE + lane] = value
        occurs |= not math.isnan(value)
    return occurs


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_raw(rows: Floats, row: Place, width: Place) -> None:
    """See `kernel.inner_product`; and by how much any value exceeds the largest so far."""
    for lane in range(width):
        x = rows[row + VALUE + lane]
        total = rows[row - ROW + FIRST + lane]
        further = total + rows[row + WEIGHT + lane] * x
        rows[row + FIRST + lane] = total if math.isnan(x) else further
        magnitude = X_MIN if x * x < X2_MIN else abs(x)
        excess = magnitude - rows[row + NORMALISED + lane]
        most = rows[row - ROW + SECOND + lane]
        rows[row + SECOND + lane] = excess if excess > most else most


@njit(cache=True, nogil=True, error_model="numpy")
def _hand_over(rows: Floats, source: Place, target: Place, begin: Place, end: Place) -> None:
    """Copy all that goes from row to row."""
    for lane in range(begin, end):
        rows[target + FIRST + lane] = rows[source + FIRST + lane]
        rows[target + SECOND + lane] = rows[source + SECOND + lane]
        rows[target + FACTOR + lane] = rows[source + FACTOR + lane]


@njit(cache=True, nogil=True, error_model="numpy")
def _hand_over_sums(rows: Floats, source: Place, target: Place, begin: Place, end: Place) -> None:
    """Copy the sums: those of lanes that end go to the last row."""
    for lane in range(begin, end):
        rows[target + FIRST + lane] = rows[source + FIRST + lane]
        rows[target + SECOND + lane] = rows[source + SECOND + lane]


@njit(cache=True, nogil=True, error_model="numpy")
def _look(
    rows: Floats,
    last: Place,
    label: np.float32,
    importance: np.float32,
    loss: int,
    width: Place,
) -> None:
    """From the raw predictions to the gradients squared, 0 where nothing is to be learned."""
    for lane in range(width):
        raw = rows[last + FIRST + lane]
        low, high = rows[last + LOW + lane], rows[last + HIGH + lane]
        rows[last + BEFORE + lane] = kernel.clip(raw, low, high)
        # VW extends the range with the current label first, then computes its gradient.
        low, high = min(low, label), max(high, label)
        rows[last + LOW + lane], rows[last + HIGH + lane] = low, high
        prediction = kernel.clip(raw, low, high)
        rows[last + PREDICTION + lane] = prediction
        squared = gradient_squared(loss, prediction, label)
        rows[last + FACTOR + lane] = importance * squared


@njit(cache=True, nogil=True, error_model="numpy")
def _widen(rows: Floats, row: Place, width: Place) -> None:
    """Values larger than any before: weights shrink to the new scale."""
    for lane in range(width):
        x = rows[row + VALUE + lane]
        gradient = rows[row - ROW + FACTOR + lane]
        weight, scale = rows[row + WEIGHT + lane], rows[row + NORMALISED + lane]
        inverse = rows[row + INVERSE + lane]
        magnitude = X_MIN if x * x < X2_MIN else abs(x)
        shrunk = weight * (scale / magnitude)
        shrunk = shrunk if scale > _ZERO else weight
        grown = _ZERO if gradient == _ZERO else magnitude
        grows = grown > scale
        rows[row + WEIGHT + lane] = shrunk if grows else weight
        rows[row + NORMALISED + lane] = grown if grows else scale
        rows[row + INVERSE + lane] = _ONE / magnitude if grows else inverse
        rows[row + FACTOR + lane] = gradient


@njit(cache=True, nogil=True, error_model="numpy")
def _accumulate(rows: Floats, row: Place, width: Place) -> None:
    """See `kernel.update`, after `_widen`."""
    for lane in range(width):
        x = rows[row + VALUE + lane]
        gradient = rows[row - ROW + FACTOR + lane]
        adaptive, rate = rows[row + ADAPTIVE + lane], rows[row + RATE + lane]
        scale = rows[row + NORMALISED + lane]
        x2 = x * x
        x2 = X2_MIN if x2 < X2_MIN else x2
        more = adaptive + gradient * x2
        relative = x2 / (scale * scale)
        relative = relative if x2 <= X2_MAX else _ONE
        fresh = (_ONE / math.sqrt(more)) * rows[row + INVERSE + lane]
        moved = x2 * fresh
        off = math.isnan(x)
        more = adaptive if off else more
        fresh = rate if off else fresh
        rows[row + ADAPTIVE + lane] = adaptive if gradient == _ZERO else more
        rows[row + RATE + lane] = rate if gradient == _ZERO else fresh
        rows[row + FIRST + lane] = rows[row - ROW + FIRST + lane] + (_ZERO if off else relative)
        rows[row + SECOND + lane] = rows[row - ROW + SECOND + lane] + (_ZERO if off else moved)
        rows[row + FACTOR + lane] = gradient


@njit(cache=True, nogil=True, error_model="numpy")
def _add_norm(rows: Floats, lane: Place, sums: Doubles, importance: np.float32) -> None:
    """The normaliser's sums of one model, and their mean in the place of the norm."""
    if rows[lane + FACTOR] != _ZERO:
        sums[kernel.NORM_SUM] += np.float64(importance) * np.float64(rows[lane + FIRST])
        sums[kernel.WEIGHT_SUM] += np.float64(importance)
    mean = np.float32(sums[kernel.WEIGHT_SUM]) / np.float32(sums[kernel.NORM_SUM])
    rows[lane + FIRST] = math.sqrt(mean)


@njit(cache=True, nogil=True, error_model="numpy")
def _set_update(
    rows: Floats, last: Place, label: np.float32, importance: np.float32, width: Place
) -> None:
    """See `invariant_update` for squared loss; 0 for one that is not a number, or none."""
    for lane in range(width):
        scale = rows[last + LEARNING_RATE + lane] * importance
        rows[last + SECOND + lane] *= rows[last + FIRST + lane]
        rows[last + SCRATCH + lane] = -_TWO * scale * rows[last + SECOND + lane]
    for lane in range(width):  # apart from the rest, for a call is not vectorised
        rows[last + SCRATCH + lane] = math.exp(rows[last + SCRATCH + lane])
    for lane in range(width):
        scale = rows[last + LEARNING_RATE + lane] * importance
        per_update = rows[last + SECOND + lane]
        error = label - rows[last + PREDICTION + lane]
        update = error * (_ONE - rows[last + SCRATCH + lane]) / per_update
        update = _TWO * error * scale if scale * per_update < 1e-6 else update
        update *= rows[last + FIRST + lane]
        idle = math.isnan(update) or rows[last + FACTOR + lane] == _ZERO
        rows[last + FACTOR + lane] = _ZERO if idle else update


@njit(cache=True, nogil=True, error_model="numpy")
def _set_any_update(
    rows: Floats,
    last: Place,
    label: np.float32,
    importance: np.float32,
    loss: int,
    width: Place,
) -> None:
    """The same for any loss, one model after the other."""
    for lane in range(width):
        if rows[last + FACTOR + lane] == _ZERO:
            continue
        mean = rows[last + FIRST + lane]
        scale = rows[last + LEARNING_RATE + lane] * importance
        prediction, per_update = rows[last + PREDICTION + lane], rows[last + SECOND + lane] * mean
        update = mean * invariant_update(loss, prediction, label, scale, per_update)
        rows[last + FACTOR + lane] = _ZERO if math.isnan(update) else update


@njit(cache=True, nogil=True, error_model="numpy")
def _update(rows: Floats, row: Place, width: Place) -> None:
    for lane in range(width):
        x, update = rows[row + VALUE + lane], rows[row - ROW + FACTOR + lane]
        weight = rows[row + WEIGHT + lane]
        moved = weight + update * (x * rows[row + RATE + lane])
        moved = weight if math.isnan(x) else moved
        rows[row + WEIGHT + lane] = weight if update == _ZERO else moved
        rows[row + FACTOR + lane] = update


Slots = NDArray[np.int64]


@quick
@njit(cache=True, nogil=True, error_model="numpy")
def learn_live(
    examples: Floats,
    targets: Floats,
    importances: Floats,
    live: Slots,
    handle: Handle,
    loss: int,
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
    handle : ndarray of int64
        Of the models, see `open_pool`.
    loss : int
        `SQUARED` or `LOGISTIC`.
    predictions : ndarray of float32, shape (n, n_slots)
        Written in the live columns: what each model predicted before it learned the example.
    """
    pool = open_pool(handle)
    # Find out which models are faster side by side, and copy these into lanes.
    share = lanes.share_of_values(examples)
    beside, alone = lanes.split(live, pool.n_terms, pool.plain, len(examples), share)
    groups = lanes.enter(beside, pool)
    # Each group learns the block, example by example.
    for models in groups:
        for t in range(len(targets)):
            evaluate(examples[t], models)
            learn_group(targets[t], importances[t], loss, models, pool.sums, predictions[t])
    lanes.leave(groups, pool)
    # Then each of the other models learns it.
    for slot in alone:
        learn_block(examples, targets, importances, slot, pool, loss, predictions)
