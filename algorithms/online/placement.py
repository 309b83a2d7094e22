"""Blocks of examples that live models learn: in lanes where that is faster, else one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online import kernel, lanes
from leaseboard.algorithms.online.handles import Handle, array_at, pointer
from leaseboard.algorithms.online.kernel import Floats, Slots

MODEL, ZERO, ACTIVE, EXAMPLE, ROW, LANE, MOVE, MAKE = 55.0, 1.5, 3.0, 200.0, 13.0, 0.9, 15.0, 80.0
"""Nanoseconds, about, that `split` weighs: of an example of a single model, of a term of it that
is zero, of one that is not; of an example of a group, of a row of it that is not zero and of a
lane of that; once a block, of a term's way into lanes and back, and of a row."""


@compiled(error_model="numpy")
def share_of_values(examples: Floats) -> float:
    """Return the share of values that are not zero, in the first examples."""
    shown, some = min(len(examples), lanes.VECTOR), 0
    for t in range(shown):
        for value in examples[t]:
            some += value != 0.0
    return float(some / max(shown * examples.shape[1], 1))


@compiled(error_model="numpy")
def split(
    live: Slots, n_terms: Slots, plain: NDArray[np.bool_], n: int, share: float
) -> tuple[Slots, Slots]:
    """Return the `live` slots of models for lanes, those of most terms first, and the others.

    Lanes are chosen where they are faster for these models and `n` examples with such a share of
    values. Few models, short blocks and rows that are nearly all zero are learned one by one, and
    so is a model that is much larger than the rest, for lanes would be empty next to it.
    """
    # Order the models that may go into lanes by their terms, most first.
    of_term = ZERO + (ACTIVE - ZERO) * share
    joined, count = np.empty(len(live), dtype=np.int64), 0
    for slot in live:
        if plain[slot]:
            at = count
            while at > 0 and n_terms[joined[at - 1]] < n_terms[slot]:
                joined[at] = joined[at - 1]
                at -= 1
            joined[at] = slot
            count += 1
    # Leave the largest out until lanes save more time than they take.
    begin = 0
    while begin < count:
        alone, together, terms = 0.0, EXAMPLE, 0
        for place in range(begin, count):
            length = n_terms[joined[place]]
            alone, terms = alone + MODEL + of_term * length, terms + length
            if (place - begin) % lanes.LANES == 0:
                together += (ZERO + (ROW - ZERO) * share) * length
            if (place - begin) % lanes.VECTOR == 0:
                together += LANE * lanes.VECTOR * share * length
        if n * (alone - together) > MOVE * terms + MAKE * n_terms[joined[begin]]:
            break
        begin += 1
    # The others learn one by one.
    single, left = np.empty(len(live), dtype=np.int64), 0
    for slot in live:
        apart = True
        for place in range(begin, count):
            apart &= joined[place] != slot
        if apart:
            single[left] = slot
            left += 1
    return joined[begin:count], single[:left]


@compiled(error_model="numpy")
def learn_live(
    examples: Floats,
    targets: Floats,
    importances: Floats,
    live: Slots,
    handle: Handle,
    loss: int,
    predictions: Floats,
) -> None:
    """Let every live model learn the block in order, in lanes where `split` finds that faster.

    The others learn one after the other: so a model's table stays in the cache, and no model
    depends on another.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, n_features)
    targets, importances : ndarray of float32, shape (n,)
    live : ndarray of int64, shape (n_live,)
        Occupied slots.
    handle : ndarray of int64
        Of the models, see `kernel.open_pool`.
    loss : int
        `kernel.SQUARED` or `kernel.LOGISTIC`.
    predictions : ndarray of float32, shape (n, n_slots)
        Written in the live columns: what each model predicted before it learned the example.
    """
    pool = kernel.open_pool(handle)
    # Find out which models are faster in lanes, and copy these there.
    share = share_of_values(examples)
    joined, single = split(live, pool.n_terms, pool.plain, len(examples), share)
    groups = lanes.enter(joined, pool, examples.shape[1])
    # Each group learns the block, example by example.
    for models in groups:
        for t in range(len(targets)):
            lanes.look_group(examples[t], models, predictions[t])
            lanes.learn_group(targets[t], importances[t], loss, models, pool.sums)
        lanes.leave(models, pool)
    # Then each of the other models learns it.
    for slot in single:
        for t in range(len(targets)):
            predictions[t, slot] = kernel.look(examples[t], slot, handle)
            kernel.take(targets[t], importances[t], slot, handle, loss)


N_GROUPS, ENTERED, LOOKED = 1, 2, 3
"""Of the first row of what `KernelModels.lanes` has: groups, whether models are in them, and
whether an example was looked at since."""

SINGLE, GROUPS = 1, 2
"""Its second row is of the slots of models in no lanes, which fill the row's array up to its
second number; from the third on each group has a row for each of its arrays."""


@compiled(error_model="numpy")
def place(example: Floats, live: Slots, handle: Handle, n: int) -> tuple[list[lanes.Group], Slots]:
    """Copy models into lanes for about n examples like this one; return those in no lanes too."""
    pool = kernel.open_pool(handle)
    share = share_of_values(example.reshape(1, -1))
    joined, single = split(live, pool.n_terms, pool.plain, n, share)
    return lanes.enter(joined, pool, len(example)), single


@compiled(error_model="numpy")
def _open_group(entered: Handle, k: int) -> lanes.Group:
    first = GROUPS + k * 6
    slots, rows, plan = entered[first], entered[first + 1], entered[first + 2]
    terms, products, values = entered[first + 3], entered[first + 4], entered[first + 5]
    return lanes.Group(
        array_at(pointer(slots[0]), (slots[1],), np.int64),
        array_at(pointer(rows[0]), (rows[1],), np.float32),
        array_at(pointer(plan[0]), (plan[1], 4), np.int64),
        array_at(pointer(terms[0]), (terms[1],), np.uint32),
        array_at(pointer(products[0]), (products[1], products[2]), np.uint32),
        array_at(pointer(values[0]), (values[1],), np.float32),
    )


@compiled(error_model="numpy")
def leave_all(entered: Handle, handle: Handle) -> None:
    """Copy the models in lanes back into their slots."""
    pool = kernel.open_pool(handle)
    for k in range(entered[0, N_GROUPS]):
        lanes.leave(_open_group(entered, k), pool)
    entered[0] = 0


@compiled(error_model="numpy")
def take_one(
    example: Floats,
    target: np.float32,
    importance: np.float32,
    entered: Handle,
    handle: Handle,
    loss: int,
    learns: bool,
    looked: bool,
    predictions: Floats,
) -> None:
    """Let models that have entered predict an example, and learn it if it `learns`.

    What they predicted if it was `looked` at, and nothing else since, is not computed again.
    """
    pool, again = kernel.open_pool(handle), looked and entered[0, LOOKED] > 0
    for k in range(entered[0, N_GROUPS]):
        models = _open_group(entered, k)
        if not again:
            lanes.look_group(example, models, predictions)
        if learns:
            lanes.learn_group(target, importance, loss, models, pool.sums)
    # Then those that are in no lanes.
    for slot in array_at(pointer(entered[SINGLE, 0]), (entered[SINGLE, 1],), np.int64):
        if not again:
            predictions[slot] = kernel.look(example, slot, handle)
        if learns:
            kernel.take(target, importance, slot, handle, loss)
    entered[0, LOOKED] = not learns
