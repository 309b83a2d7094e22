"""VW's update for many models at once, bit for bit as for each alone.

Live models are independent, so the arithmetic of one term of many models fills the lanes of a
vector register, where that of many terms of one model is a chain of sums. `enter` copies models
from their slots into lanes, `leave` copies them back; between the decisions of a race, that is
once in hundreds of examples.

The memory is one array of rows: row k + 1 holds the k-th term of every model, a block of `LANES`
floats a field (see `WEIGHT` and those after it). Models are sorted by their terms, most first, so
the k-th row is that of its first lanes alone. A term that is zero or that a model does not have
is NOT A NUMBER in its lane and changes nothing; a row without a number is left out. Sums go from
row to row, in VW's order: each has those of the row before and adds its own, and a lane that ends
hands its sums to the last row, where what a model has but once is kept (`LOW` and those after it).

Notes
-----
LLVM vectorises the loops over lanes because all that they touch is at constant distances in one
array (no overlap has to be excluded as they run), indices are unsigned (none is checked for being
negative), and values are selected rather than branched over. Lanes that are off must not compute
numbers below float32's normal ones, which take a hundred cycles each; NaN costs nothing. Each loop
is a function of its own, which LLVM vectorises before it is put into its caller; put there by
numba (``inline="always"``) they take a fifth longer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online import kernel
from leaseboard.algorithms.online.kernel import SQUARED, Doubles, Floats, Integers, Pool, Slots
from leaseboard.algorithms.transcendental import exp32

LANES = 32
"""Models in one block of rows, at most."""

VECTOR = 8
"""Lanes that the widths of rows are multiples of: what one register of 256 bits holds."""

Place = np.uint64
"""Of a float in the rows."""

WEIGHT, ADAPTIVE, NORMALISED, INVERSE, RATE, VALUE = (Place(LANES * k) for k in range(6))
"""The fields of a term: a cell's, the inverse of its largest value, and the example's value."""

LOW, HIGH, LEARNING_RATE, PREDICTION, SCRATCH = (Place(LANES * k) for k in range(5))
"""The fields of a model, in the last row: the range of labels that it has seen, its learning rate,
and what it predicts once the label has widened that range."""

FIRST, SECOND, FACTOR = (Place(LANES * k) for k in range(6, 9))
"""What goes from row to row. First the raw prediction, and by how much any value exceeds the
largest so far; then the norm, the prediction per update, and the gradient squared; then, as the
factor, the update."""

ROW = Place(LANES * 9)

_ZERO, _ONE, _TWO, _NAN = (np.float32(k) for k in (0, 1, 2, np.nan))

Terms = NDArray[np.uint32]
Plan = NDArray[np.int64]


class Group(NamedTuple):
    """Models in the lanes of one array of rows.

    Attributes
    ----------
    slots : ndarray of int64
        Where each model belongs.
    rows : ndarray of float32, shape ((n_rows + 2) * ROW,)
        One of zeros, one a term, the last.
    plan : ndarray of int64, shape (n_rows + 1, 4)
        See `WIDTH` and those after it; 0 at the end.
    terms : ndarray of uint32, shape (n_rows * LANES,)
        The number of each lane's term in a row: 0 for none, 1 for the constant, then those of the
        columns, then those of the distinct products of columns.
    products : ndarray of uint32, shape (n_products, order)
        The numbers of what is multiplied into each product.
    values : ndarray of float32, shape (2 + n_columns + n_products,)
        Of the terms in an example, by their numbers; NaN for those that are zero or none.
    """

    slots: Slots
    rows: Floats
    plan: Plan
    terms: Terms
    products: Terms
    values: Floats


WIDTH, COUNT, COMMON, OCCURS = range(4)
"""Of a row: its lanes, a multiple of `VECTOR`; how many models have a term there; the number of
the term that all of them have, 0 if not the same; whether any has a value in the present
example."""


@compiled(error_model="numpy")
def enter(joined: Slots, pool: Pool, n_columns: int) -> list[Group]:
    """Copy the models of the slots `joined`, those of most terms first, into lanes.

    There are the fewest even groups that lanes hold.
    """
    n_groups = (len(joined) + LANES - 1) // LANES
    size = (len(joined) + n_groups - 1) // max(n_groups, 1)
    return [_enter(joined[k * size : (k + 1) * size], pool, n_columns) for k in range(n_groups)]


@compiled(error_model="numpy", inline="always")
def _enter(group: Slots, pool: Pool, n_columns: int) -> Group:
    tables, labels, n_terms = pool.tables, pool.labels, pool.n_terms
    n_rows = n_terms[group[0]]
    rows = np.zeros((n_rows + 2) * ROW, dtype=np.float32)
    plan = np.zeros((n_rows + 1, 4), dtype=np.int64)
    last = Place(n_rows + 1) * ROW
    for lane in range(len(group)):
        # What a model has but once goes to the last row.
        slot, place = group[lane], Place(lane)
        rows[last + LOW + place] = labels[slot, kernel.LOW]
        rows[last + HIGH + place] = labels[slot, kernel.HIGH]
        rows[last + LEARNING_RATE + place] = pool.rates[slot]
        # Each of its cells goes to the lane of a row.
        width = (lane + VECTOR) // VECTOR * VECTOR
        for k in range(n_terms[slot]):
            cell, at = tables[slot, k], Place(k + 1) * ROW + place
            rows[at + WEIGHT] = cell[kernel.WEIGHT]
            rows[at + ADAPTIVE] = cell[kernel.ADAPTIVE]
            rows[at + NORMALISED] = cell[kernel.NORMALISED]
            rows[at + INVERSE] = np.float32(1) / cell[kernel.NORMALISED]
            rows[at + RATE] = cell[kernel.RATE]
            plan[k, WIDTH], plan[k, COUNT] = width, lane + 1
    terms, products = _number_terms(group, pool.factors, n_terms, 2 + n_columns)
    # Lanes without a value are NaN; rows whose term all models have are marked.
    for k in range(n_rows):
        for lane in range(LANES):
            rows[Place(k + 1) * ROW + VALUE + Place(lane)] = _NAN
        plan[k, COMMON] = terms[k * LANES]
        for lane in range(plan[k, COUNT]):
            if terms[k * LANES + lane] != terms[k * LANES]:
                plan[k, COMMON] = 0
    values = np.empty(2 + n_columns + len(products), dtype=np.float32)
    values[0], values[1] = _NAN, _ONE
    return Group(group, rows, plan, terms, products, values)


@compiled(error_model="numpy", inline="always")
def _number_terms(
    group: Slots, factors: Integers, n_terms: Slots, first: int
) -> tuple[Terms, Terms]:
    """Return the numbers of the models' terms and the products, whose numbers begin at `first`."""
    n_rows, order = n_terms[group[0]], factors.shape[2]
    total, size = 0, 4
    for slot in group:
        total += n_terms[slot]
    while size < 2 * total:
        size *= 2
    # A table of hashes finds a product that was there before.
    seen = np.zeros(size, dtype=np.uint32)
    terms = np.zeros(n_rows * LANES, dtype=np.uint32)
    products = np.empty((total, order), dtype=np.uint32)
    count = 0
    for lane in range(len(group)):
        slot = group[lane]
        for k in range(n_terms[slot]):
            term = factors[slot, k]
            if term[1] < 0:  # the constant or a column
                terms[k * LANES + lane] = term[0] + 2
                continue
            # Hash the columns of the product.
            at = np.uint32(0)
            for place in range(order):
                at = np.uint32(at * np.uint32(0x9E3779B1) + np.uint32(term[place] + 1))
            at ^= at >> np.uint32(15)
            # Look for it, place after place; a new one has the next number.
            home = np.int64(at) & (size - 1)
            while seen[home] > 0 and not _same(products[seen[home] - 1], term):
                home = (home + 1) & (size - 1)
            if seen[home] == 0:
                for place in range(order):
                    products[count, place] = term[place] + 2
                count += 1
                seen[home] = count
            terms[k * LANES + lane] = first + seen[home] - 1
    return terms, products[:count]


@compiled(error_model="numpy", inline="always")
def _same(product: Terms, term: Integers) -> bool:
    alike = True
    for place in range(len(term)):
        alike &= product[place] == term[place] + 2
    return alike


@compiled(error_model="numpy")
def leave(models: Group, pool: Pool) -> None:
    """Copy the models of a group back into their slots."""
    tables, labels, n_terms = pool.tables, pool.labels, pool.n_terms
    group, rows = models.slots, models.rows
    last = Place(n_terms[group[0]] + 1) * ROW
    for lane in range(len(group)):
        # The range of labels, then cell after cell.
        slot, place = group[lane], Place(lane)
        labels[slot, kernel.LOW] = rows[last + LOW + place]
        labels[slot, kernel.HIGH] = rows[last + HIGH + place]
        for k in range(n_terms[slot]):
            cell, at = tables[slot, k], Place(k + 1) * ROW + place
            cell[kernel.WEIGHT] = rows[at + WEIGHT]
            cell[kernel.ADAPTIVE] = rows[at + ADAPTIVE]
            cell[kernel.NORMALISED] = rows[at + NORMALISED]
            cell[kernel.RATE] = rows[at + RATE]


@compiled(error_model="numpy")
def look_group(example: Floats, models: Group, predictions: Floats) -> None:
    """Sum the raw predictions for an example; write what is predicted, clipped to the labels."""
    rows, plan, terms, values = models.rows, models.plan, models.terms, models.values
    products = models.products
    # The values of columns, NaN for those that VW drops (see `kernel.gather`), and of products.
    for column in range(len(example)):
        factor = example[column]
        values[2 + column] = factor if factor != _ZERO else _NAN
    first = 2 + len(example)
    for k in range(len(products)):
        values[first + k] = values[products[k, 0]] * values[products[k, 1]]
    for place in range(2, products.shape[1]):
        for k in range(len(products)):
            values[first + k] *= values[products[k, place]]
    # Set the values of the example, row by row.
    row, last = ROW, Place(len(plan)) * ROW
    for k in range(len(plan) - 1):
        common = plan[k, COMMON]
        if common > 0:
            plan[k, OCCURS] = _fill(rows, row, values[common], Place(plan[k, COUNT]))
        else:
            at, end = Place(k * LANES), Place(plan[k, COUNT])
            plan[k, OCCURS] = _fill_each(rows, row, terms, at, values, end)
        row += ROW
    # Sum the raw predictions, and hand what is predicted to the caller.
    _pass(rows, plan, last, _sum_raw, True)
    _clip(rows, last, Place(plan[0, WIDTH]))
    for lane in range(len(models.slots)):
        predictions[models.slots[lane]] = rows[last + SCRATCH + Place(lane)]


@compiled(error_model="numpy")
def learn_group(
    label: np.float32,
    importance: np.float32,
    loss: int,
    models: Group,
    sums: Doubles,
) -> None:
    """Let all models learn the example of `look_group`.

    Parameters
    ----------
    label, importance : float32
    loss : int
        One of `leaseboard.algorithms.online.kernel`.
    models : Group
    sums : ndarray of float64, shape (n_slots, 2)
    """
    group, rows, plan = models.slots, models.rows, models.plan
    last, width = Place(len(plan)) * ROW, Place(plan[0, WIDTH])
    # Find the gradients squared, and hand them to the first row.
    _look(rows, last, label, importance, loss, width)
    exceeds = False
    for lane in range(width):
        exceeds |= rows[last + SECOND + lane] > _ZERO
        rows[FACTOR + lane] = rows[last + FACTOR + lane]
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


@compiled(error_model="numpy", inline="always")
def _pass(rows: Floats, plan: Plan, last: Place, step: Any, ends: bool) -> None:
    """Take one step in all rows that occur; each sees the sums of the one before it.

    If it `ends` with sums, those of lanes that end go to the last row.
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
            _hand_over(rows, before, last, left, width)


@compiled(error_model="numpy")
def _fill(rows: Floats, row: Place, value: np.float32, end: Place) -> bool:
    """Set the value that all lanes have; return whether it is a number."""
    if math.isnan(value):
        return False
    for lane in range(end):
        rows[row + VALUE + lane] = value
    return True


@compiled(error_model="numpy")
def _fill_each(
    rows: Floats, row: Place, terms: Terms, at: Place, values: Floats, end: Place
) -> bool:
    """Set the lanes' values; return whether any is a number."""
    occurs = False
    for lane in range(end):
        value = values[terms[at + lane]]
        rows[row + VALUE + lane] = value
        occurs |= not math.isnan(value)
    return occurs


@compiled(error_model="numpy")
def _sum_raw(rows: Floats, row: Place, width: Place) -> None:
    """Add to the raw predictions, and to how much any value exceeds the largest so far."""
    for lane in range(width):
        # The next summand of `kernel.inner_product`.
        x = rows[row + VALUE + lane]
        total = rows[row - ROW + FIRST + lane]
        further = total + rows[row + WEIGHT + lane] * x
        rows[row + FIRST + lane] = total if math.isnan(x) else further
        # The excess of the value's magnitude.
        magnitude = kernel.X_MIN if x * x < kernel.X2_MIN else abs(x)
        excess = magnitude - rows[row + NORMALISED + lane]
        most = rows[row - ROW + SECOND + lane]
        rows[row + SECOND + lane] = excess if excess > most else most


@compiled(error_model="numpy")
def _hand_over(rows: Floats, source: Place, target: Place, begin: Place, end: Place) -> None:
    """Copy all that goes from row to row; the last row has that of lanes that end."""
    for lane in range(begin, end):
        rows[target + FIRST + lane] = rows[source + FIRST + lane]
        rows[target + SECOND + lane] = rows[source + SECOND + lane]
        rows[target + FACTOR + lane] = rows[source + FACTOR + lane]


@compiled(error_model="numpy")
def _clip(rows: Floats, last: Place, width: Place) -> None:
    """Set what the models predict, within the range of the labels before."""
    for lane in range(width):
        raw = rows[last + FIRST + lane]
        rows[last + SCRATCH + lane] = kernel.clip(
            raw, rows[last + LOW + lane], rows[last + HIGH + lane]
        )


@compiled(error_model="numpy")
def _look(
    rows: Floats, last: Place, label: np.float32, importance: np.float32, loss: int, width: Place
) -> None:
    """Set the gradients squared by the raw predictions, 0 where nothing is to be learned."""
    for lane in range(width):
        raw = rows[last + FIRST + lane]
        low, high = rows[last + LOW + lane], rows[last + HIGH + lane]
        # VW extends the range with the current label first, then computes its gradient.
        low, high = min(low, label), max(high, label)
        rows[last + LOW + lane], rows[last + HIGH + lane] = low, high
        prediction = kernel.clip(raw, low, high)
        rows[last + PREDICTION + lane] = prediction
        # Its gradient squared goes from row to row.
        squared = kernel.gradient_squared(loss, prediction, label)
        rows[last + FACTOR + lane] = importance * squared


@compiled(error_model="numpy")
def _widen(rows: Floats, row: Place, width: Place) -> None:
    """Shrink weights to the new scale where a value is larger than any before."""
    for lane in range(width):
        # The weight at the scale of a larger value.
        x = rows[row + VALUE + lane]
        gradient = rows[row - ROW + FACTOR + lane]
        weight, scale = rows[row + WEIGHT + lane], rows[row + NORMALISED + lane]
        inverse = rows[row + INVERSE + lane]
        magnitude = kernel.X_MIN if x * x < kernel.X2_MIN else abs(x)
        shrunk = weight * (scale / magnitude)
        shrunk = shrunk if scale > _ZERO else weight
        # Take it where the value is larger and something is learned.
        grown = _ZERO if gradient == _ZERO else magnitude
        grows = grown > scale
        rows[row + WEIGHT + lane] = shrunk if grows else weight
        rows[row + NORMALISED + lane] = grown if grows else scale
        rows[row + INVERSE + lane] = _ONE / magnitude if grows else inverse
        rows[row + FACTOR + lane] = gradient


@compiled(error_model="numpy")
def _accumulate(rows: Floats, row: Place, width: Place) -> None:
    """Take the gradients into the adaptive sums, as `kernel.update`, after `_widen`."""
    for lane in range(width):
        # The square of the value within VW's limits.
        x = rows[row + VALUE + lane]
        gradient = rows[row - ROW + FACTOR + lane]
        adaptive, rate = rows[row + ADAPTIVE + lane], rows[row + RATE + lane]
        scale = rows[row + NORMALISED + lane]
        x2 = x * x
        x2 = kernel.X2_MIN if x2 < kernel.X2_MIN else x2
        # The adaptive sum, the norm, the rate, and how far that moves the prediction.
        more = adaptive + gradient * x2
        relative = x2 / (scale * scale)
        relative = relative if x2 <= kernel.X2_MAX else _ONE
        fresh = (_ONE / math.sqrt(more)) * rows[row + INVERSE + lane]
        moved = x2 * fresh
        # Keep what was there in lanes without a value or a gradient.
        off = math.isnan(x)
        more = adaptive if off else more
        fresh = rate if off else fresh
        rows[row + ADAPTIVE + lane] = adaptive if gradient == _ZERO else more
        rows[row + RATE + lane] = rate if gradient == _ZERO else fresh
        rows[row + FIRST + lane] = rows[row - ROW + FIRST + lane] + (_ZERO if off else relative)
        rows[row + SECOND + lane] = rows[row - ROW + SECOND + lane] + (_ZERO if off else moved)
        rows[row + FACTOR + lane] = gradient


@compiled(error_model="numpy")
def _add_norm(rows: Floats, lane: Place, sums: Doubles, importance: np.float32) -> None:
    """Take a model's norm into its normaliser, whose mean takes the place of the norm."""
    # The sums, unless nothing is learned, then their mean.
    if rows[lane + FACTOR] != _ZERO:
        sums[kernel.NORM_SUM] += np.float64(importance) * np.float64(rows[lane + FIRST])
        sums[kernel.WEIGHT_SUM] += np.float64(importance)
    mean = np.float32(sums[kernel.WEIGHT_SUM]) / np.float32(sums[kernel.NORM_SUM])
    rows[lane + FIRST] = math.sqrt(mean)


@compiled(error_model="numpy")
def _set_update(
    rows: Floats, last: Place, label: np.float32, importance: np.float32, width: Place
) -> None:
    """Set the updates of squared loss, see `kernel.invariant_update`; 0 for NaN, or none."""
    # The exponents of the closed form, and their exponentials.
    for lane in range(width):
        scale = rows[last + LEARNING_RATE + lane] * importance
        rows[last + SECOND + lane] *= rows[last + FIRST + lane]
        rows[last + SCRATCH + lane] = -_TWO * scale * rows[last + SECOND + lane]
    for lane in range(width):
        rows[last + SCRATCH + lane] = exp32(rows[last + SCRATCH + lane])
    # The step of each model, or the first term of its series where it is small.
    for lane in range(width):
        scale = rows[last + LEARNING_RATE + lane] * importance
        per_update = rows[last + SECOND + lane]
        error = label - rows[last + PREDICTION + lane]
        update = error * (_ONE - rows[last + SCRATCH + lane]) / per_update
        update = _TWO * error * scale if scale * per_update < 1e-6 else update
        update *= rows[last + FIRST + lane]
        idle = math.isnan(update) or rows[last + FACTOR + lane] == _ZERO
        rows[last + FACTOR + lane] = _ZERO if idle else update


@compiled(error_model="numpy")
def _set_any_update(
    rows: Floats, last: Place, label: np.float32, importance: np.float32, loss: int, width: Place
) -> None:
    """Set the updates of any loss, one model after the other."""
    for lane in range(width):
        if rows[last + FACTOR + lane] == _ZERO:
            continue
        # A step of `kernel.update`; 0 in the place of NaN.
        mean = rows[last + FIRST + lane]
        scale = rows[last + LEARNING_RATE + lane] * importance
        prediction, per_update = rows[last + PREDICTION + lane], rows[last + SECOND + lane] * mean
        update = mean * kernel.invariant_update(loss, prediction, label, scale, per_update)
        rows[last + FACTOR + lane] = _ZERO if math.isnan(update) else update


@compiled(error_model="numpy")
def _update(rows: Floats, row: Place, width: Place) -> None:
    """Move the weights of lanes with a value by the updates, which go from row to row."""
    for lane in range(width):
        x, update = rows[row + VALUE + lane], rows[row - ROW + FACTOR + lane]
        weight = rows[row + WEIGHT + lane]
        moved = weight + update * (x * rows[row + RATE + lane])
        moved = weight if math.isnan(x) else moved
        rows[row + WEIGHT + lane] = weight if update == _ZERO else moved
        rows[row + FACTOR + lane] = update
