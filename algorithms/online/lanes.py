"""Many models side by side in memory, to be learned by `leaseboard.algorithms.online.lane_update`.

`enter` copies models from their slots into lanes, `leave` copies them back; between the decisions
of a race, that is once in hundreds of examples.

The memory is one array of rows: row k + 1 holds the k-th term of every model, a block of `LANES`
floats a field (see `WEIGHT` and those after it). Models are sorted by their terms, most first, so
the k-th row is that of its first lanes alone. A term that is zero or that a model has not is NOT A
NUMBER in its lane and changes nothing; a row without a number is left out. Sums go from row to
row, in VW's order: each has those of the row before and adds its own, and a lane that ends hands
its sums to the last row, where what a model has but once is kept (`LOW` and those after it).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.online import kernel
from leaseboard.algorithms.online.kernel import Floats, Integers, Pool, Slots

LANES = 32
"""Models in one block of rows, at most."""

VECTOR = 8
"""Lanes that the widths of rows are multiples of: what one register of 256 bits holds."""

ZERO, ACTIVE, LANE, EXAMPLE, MOVE, MAKE = 1.0, 14.0, 2.2, 300.0, 30.0, 150.0
"""Nanoseconds, about, that `split` weighs: of a term of a model alone that is zero, of one that is
not; of a lane of a row, of an example of a group; once a block, of a term's way into lanes and
back, and of a row."""

Place = np.uint64
"""Of a float in the rows."""

WEIGHT, ADAPTIVE, NORMALISED, INVERSE, RATE, VALUE = (Place(LANES * k) for k in range(6))
"""The fields of a term: a cell's, the inverse of its largest value, and the example's value."""

LOW, HIGH, LEARNING_RATE, BEFORE, PREDICTION, SCRATCH = (Place(LANES * k) for k in range(6))
"""The fields of a model, in the last row: the range of labels that it has seen, its learning rate,
what it forecast before the label widened that range, and after."""

FIRST, SECOND, FACTOR = (Place(LANES * k) for k in range(6, 9))
"""What goes from row to row. First the raw prediction, and by how much any value exceeds the
largest so far; then the norm, the prediction per update, and the gradient squared; then, as the
factor, the update."""

ROW = Place(LANES * 9)

_NAN = np.float32(np.nan)

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
        Which of the distinct terms each lane of a row has, 0 for none.
    distinct : ndarray of int32, shape (1 + n_distinct, order)
        The columns that are multiplied into each.
    values : ndarray of float32, shape (1 + n_distinct,)
        Theirs in an example, NaN for none.
    """

    slots: Slots
    rows: Floats
    plan: Plan
    terms: Terms
    distinct: Integers
    values: Floats


WIDTH, COUNT, COMMON, OCCURS = range(4)
"""Of a row: its lanes, a multiple of `VECTOR`; how many models have a term there; the distinct
term that all of them have, 0 if not the same; whether any has a value in the present example."""


@njit(cache=True, nogil=True, error_model="numpy")
def share_of_values(examples: Floats) -> float:
    """Return how much of the first examples is not zero."""
    shown, some = min(len(examples), VECTOR), 0
    for t in range(shown):
        for value in examples[t]:
            some += value != 0.0
    return float(some / max(shown * examples.shape[1], 1))


@njit(cache=True, nogil=True, error_model="numpy")
def split(
    live: Slots, n_terms: Slots, plain: NDArray[np.bool_], n: int, share: float
) -> tuple[Slots, Slots]:
    """The `live` slots whose models go into lanes, those of most terms first; and the others.

    Whatever is faster for so many models and `n` examples with such a share of values: few models,
    short blocks and rows that are nearly all zero are learned one by one, and so is a model that
    is much larger than the rest, for lanes would be empty beside it.
    """
    # Order the models that may go into lanes by their terms, most first.
    of_term = ZERO + (ACTIVE - ZERO) * share
    beside, count = np.empty(len(live), dtype=np.int64), 0
    for slot in live:
        if plain[slot]:
            at = count
            while at > 0 and n_terms[beside[at - 1]] < n_terms[slot]:
                beside[at] = beside[at - 1]
                at -= 1
            beside[at] = slot
            count += 1
    # Leave the largest out until lanes save more time than they take.
    begin = 0
    while begin < count:
        terms = lanes = 0
        for place in range(begin, count):
            terms += n_terms[beside[place]]
            if (place - begin) % VECTOR == 0:
                lanes += VECTOR * n_terms[beside[place]]
        once = MOVE * terms + MAKE * n_terms[beside[begin]]
        if n * (of_term * terms - LANE * lanes - EXAMPLE) > once:
            break
        begin += 1
    # The others stay alone.
    alone, left = np.empty(len(live), dtype=np.int64), 0
    for slot in live:
        apart = True
        for place in range(begin, count):
            apart &= beside[place] != slot
        if apart:
            alone[left] = slot
            left += 1
    return beside[begin:count], alone[:left]


@njit(cache=True, nogil=True, error_model="numpy")
def enter(beside: Slots, pool: Pool) -> list[Group]:
    """Copy the models of the slots `beside`, those of most terms first, into lanes.

    There are the fewest even groups that lanes hold.
    """
    n_groups = (len(beside) + LANES - 1) // LANES
    size = (len(beside) + n_groups - 1) // max(n_groups, 1)
    return [_enter(beside[k * size : (k + 1) * size], pool) for k in range(n_groups)]


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _enter(group: Slots, pool: Pool) -> Group:
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
    terms, distinct = _tell_apart(group, pool.factors, n_terms)
    # Lanes without a value are NaN; rows whose term all models have are marked.
    for k in range(n_rows):
        for lane in range(LANES):
            rows[Place(k + 1) * ROW + VALUE + Place(lane)] = _NAN
        plan[k, COMMON] = terms[k * LANES]
        for lane in range(plan[k, COUNT]):
            if terms[k * LANES + lane] != terms[k * LANES]:
                plan[k, COMMON] = 0
    values = np.empty(len(distinct), dtype=np.float32)
    values[0] = _NAN
    return Group(group, rows, plan, terms, distinct, values)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _tell_apart(group: Slots, factors: Integers, n_terms: Slots) -> tuple[Terms, Integers]:
    """Number the distinct terms of the models in `group`; 0 is none."""
    n_rows, order = n_terms[group[0]], factors.shape[2]
    total, size = 0, 4
    for slot in group:
        total += n_terms[slot]
    while size < 2 * total:
        size *= 2
    # A table of hashes finds a term that was there before.
    seen = np.zeros(size, dtype=np.uint32)
    terms = np.zeros(n_rows * LANES, dtype=np.uint32)
    distinct = np.empty((1 + total, order), dtype=np.int32)
    count = 0
    for lane in range(len(group)):
        slot = group[lane]
        for k in range(n_terms[slot]):
            term = factors[slot, k]
            # Hash the columns of the term.
            at = np.uint32(0)
            for place in range(order):
                at = np.uint32(at * np.uint32(0x9E3779B1) + np.uint32(term[place] + 1))
            at ^= at >> np.uint32(15)
            # Look for it, place after place; a new one has the next number.
            home = np.int64(at) & (size - 1)
            while seen[home] > 0 and not _same(distinct[seen[home]], term):
                home = (home + 1) & (size - 1)
            if seen[home] == 0:
                count += 1
                seen[home] = count
                for place in range(order):
                    distinct[count, place] = term[place]
            terms[k * LANES + lane] = seen[home]
    return terms, distinct[: count + 1]


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _same(one: Integers, other: Integers) -> bool:
    alike = True
    for place in range(len(one)):
        alike &= one[place] == other[place]
    return alike


@njit(cache=True, nogil=True, error_model="numpy")
def leave(groups: list[Group], pool: Pool) -> None:
    """Copy the models in lanes back into their slots."""
    tables, labels, n_terms = pool.tables, pool.labels, pool.n_terms
    for models in groups:
        group, rows = models.slots, models.rows
        last = Place(n_terms[group[0]] + 1) * ROW
        for lane in range(len(group)):
            slot, place = group[lane], Place(lane)
            labels[slot, kernel.LOW] = rows[last + LOW + place]
            labels[slot, kernel.HIGH] = rows[last + HIGH + place]
            for k in range(n_terms[slot]):
                cell, at = tables[slot, k], Place(k + 1) * ROW + place
                cell[kernel.WEIGHT] = rows[at + WEIGHT]
                cell[kernel.ADAPTIVE] = rows[at + ADAPTIVE]
                cell[kernel.NORMALISED] = rows[at + NORMALISED]
                cell[kernel.RATE] = rows[at + RATE]
