"""The table of 2^bits slots that monomials of degree two and more share, and its look-ups.

A bucket only says which slot its monomial has. Slots are given in the order in which monomials
come, so that the frequent ones, which come first, lie close together and stay in a near cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.apple.monomials import mix, tag_of
from leaseboard.algorithms.apple.sparse_rows import Records
from leaseboard.algorithms.apple.update import UNSEEN

CLAIMED, COLLISIONS, ROWS = range(3)

EMPTY, FOREIGN = -1, -2
"""In place of a slot: the bucket is free, or was not asked yet; another monomial owns it."""

Int = int | np.integer[Any]


class Buckets(NamedTuple):
    """The slots of a `HashedLearner` and its buckets, as the kernels see them.

    The mixed key of a monomial is its bucket, the top `bits`, and a rest. `tags` is one byte of
    each bucket's rest, 0 in an empty bucket: small enough for a near cache, it answers most
    look-ups of a crowded table. `owners` is the rest and, in the low `bits`, the number of the
    monomial, which is exact. `children` has the slots of a parent's products by variable in the
    row that `family` names, or no rows at all. `counts` holds the number of monomials, the
    collisions dropped and the rows expanded.
    """

    records: Records
    keys: NDArray[np.uint64]
    source: NDArray[np.uint32]
    variable: NDArray[np.uint32]
    degree: NDArray[np.uint8]
    parent: NDArray[np.bool_]
    tags: NDArray[np.uint8]
    owners: NDArray[np.uint64]
    family: NDArray[np.uint32]
    children: NDArray[np.int32]
    counts: NDArray[np.int64]
    scale: NDArray[np.float64]
    variable_keys: NDArray[np.uint64]
    bits: int


@njit(cache=True, nogil=True)
def find(table: Buckets, key: np.uint64) -> Int:
    """The slot of a monomial of degree two or more, or EMPTY or FOREIGN as its bucket is."""
    bits, mixed = np.uint64(table.bits), mix(key)
    bucket = mixed >> (np.uint64(64) - bits)
    if table.tags[bucket] == 0:
        return EMPTY
    owner = table.owners[bucket]
    if owner >> bits != mixed << bits >> bits:
        return FOREIGN
    number = owner & ((np.uint64(1) << bits) - np.uint64(1))
    return np.int64(number) + len(table.scale) + 1


@njit(cache=True, nogil=True)
def claim(table: Buckets, key: np.uint64, source: Int, variable: Int) -> Int:
    """Give a new slot to `key`, whose bucket is empty."""
    number = np.int64(table.counts[CLAIMED])
    table.counts[CLAIMED] += 1
    bits, mixed = np.uint64(table.bits), mix(key)
    bucket = mixed >> (np.uint64(64) - bits)
    table.tags[bucket] = tag_of(mixed)
    table.owners[bucket] = mixed << bits | np.uint64(number)
    slot = len(table.scale) + 1 + number
    table.records[slot].inverse = np.float32(1 / UNSEEN)
    table.keys[slot] = key
    table.source[slot] = source
    table.variable[slot] = variable
    table.degree[slot] = table.degree[source] + 1
    return slot


@njit(cache=True, nogil=True)
def adopt(table: Buckets, other: Buckets, slots: NDArray[np.intp], here: NDArray[np.intp]) -> None:
    """Fill `here` with the slots of another table's monomials; it is -1 where there is no room."""
    for slot in slots:
        source = here[other.source[slot]]
        here[slot] = find(table, other.keys[slot])
        if here[slot] == EMPTY and source >= 0:
            here[slot] = claim(table, other.keys[slot], source, other.variable[slot])


@njit(cache=True, nogil=True)
def settle(table: Buckets, source: Int, variable: Int, learning: bool) -> Int:
    """The slot of a product, claimed if it may be; negative if it has none."""
    key = table.keys[source] + table.variable_keys[variable]
    slot = find(table, key)
    if slot == EMPTY and learning:
        return claim(table, key, source, variable)
    return slot
