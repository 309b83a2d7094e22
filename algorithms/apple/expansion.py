"""Expanding a sparse row: the products of those of its features that are parents, each once.

A row emits its base features, then works through those of them that are parents: each emits its
products with the base features, and products that are parents join the queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.apple.buckets import COLLISIONS, EMPTY, ROWS, Buckets, Int, settle
from algorithms.apple.monomials import mix, tag_of
from algorithms.apple.sparse_rows import CSR, Scratch, emit_base
from algorithms.apple.update import FAST

BATCH = 1024
"""So many hits are looked up together, and those of one parent more."""


class Worklist(NamedTuple):
    """Where a row's parents are among its emitted features, and a batch of look-ups.

    `mixed` has room for the mixed keys of one parent's products. Products that may be in the
    table are hits: their places (`left` times `right`), mixed keys and slots, and whether the
    row has not emitted them before.
    """

    parents: NDArray[np.uint32]
    mixed: NDArray[np.uint64]
    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    hits: NDArray[np.uint64]
    found: NDArray[np.int64]
    new: NDArray[np.bool_]


@njit(cache=True, nogil=True, inline="always")
def look_up(
    place: Int,
    base: int,
    table: Buckets,
    scratch: Scratch,
    work: Worklist,
    n_hits: int,
    claims: bool,
) -> int:
    """Append the hits of the parent at `place` to the `n_hits` there are; returns their number.

    Neither loop branches: in a crowded table the answer cannot be foreseen, and most say no.
    """
    keys, tags, mixed, right = scratch.keys, table.tags, work.mixed, work.right
    key = table.keys[scratch.slots[place]]
    for i in range(base):
        mixed[i] = mix(key + keys[i])
    shift = np.uint64(64 - table.bits)
    first = n_hits
    for i in range(base):
        tag = tags[mixed[i] >> shift]
        right[n_hits] = i
        n_hits += (tag == tag_of(mixed[i])) | (claims & (tag == 0))
    for hit in range(first, n_hits):
        work.left[hit] = place
        work.hits[hit] = mixed[right[hit]]
    return n_hits


@njit(cache=True, nogil=True, inline="always")
def locate(table: Buckets, work: Worklist, n_hits: int) -> None:
    """Write the slots of the hits to `found`; -1 where only `_settle` can tell.

    No iteration waits for the one before, though each reads far memory.
    """
    owners, hits, found = table.owners, work.hits, work.found
    bits, first = np.uint64(table.bits), len(table.scale) + 1
    shift, numbers = np.uint64(64) - bits, (np.uint64(1) << bits) - np.uint64(1)
    for hit in range(n_hits):
        key = hits[hit]
        owner = owners[key >> shift]
        sure = (owner != 0) & (owner >> bits == key << bits >> bits)
        found[hit] = np.int64(owner & numbers) + first if sure else -1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def _multiply(
    place: Int, base: int, table: Buckets, scratch: Scratch, work: Worklist, size: int,
    n_parents: int, learning: bool,
) -> tuple[int, int]:  # fmt: skip
    """Emit the products of the parent at `place`, whose children are remembered.

    Takes and returns how many features and how many parents the row has.
    """
    records, is_parent, counts = table.records, table.parent, table.counts
    slots, v = scratch.slots, scratch.v
    stamp = np.uint32(counts[ROWS])
    source, value = slots[place], v[place]
    children = table.children[table.family[source]]
    dropped = 0
    for i in range(base):
        child = children[slots[i]]
        if child == EMPTY:
            child = np.int32(settle(table, source, slots[i], learning))
            children[slots[i]] = child
        dropped += int(child < 0)
        slot = np.int64(max(child, 0))
        record = records[slot]
        new = (record.stamp != stamp) & (child >= 0)
        record.stamp = stamp
        slots[size] = slot
        v[size] = value * v[i]
        work.parents[n_parents] = size
        n_parents += new & is_parent[slot]
        size += new
    if learning:
        counts[COLLISIONS] += dropped
    return size, n_parents


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def _multiply_batch(
    done: int, base: int, table: Buckets, scratch: Scratch, work: Worklist, size: int,
    n_parents: int, learning: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Emit the products of some parents from place `done` of the worklist on, looked up together.

    Takes and returns how many parents are done, and what `_multiply` does.
    """
    records, is_parent, counts = table.records, table.parent, table.counts
    slots, v = scratch.slots, scratch.v
    parents, left, right, found, new = work.parents, work.left, work.right, work.found, work.new
    stamp = np.uint32(counts[ROWS])
    n_hits = 0
    dropped = 0
    while done < n_parents and n_hits < BATCH:
        n_hits = look_up(parents[done], base, table, scratch, work, n_hits, learning)
        dropped += base
        done += 1
    dropped -= n_hits
    locate(table, work, n_hits)
    for hit in range(n_hits):
        if found[hit] < 0:
            source, variable = slots[left[hit]], slots[right[hit]]
            found[hit] = settle(table, source, variable, learning)
            dropped += found[hit] < 0
    if learning:
        counts[COLLISIONS] += dropped
    for hit in range(n_hits):
        record = records[max(found[hit], 0)]
        new[hit] = (record.stamp != stamp) & (found[hit] >= 0)
        record.stamp = stamp
    for hit in range(n_hits):
        slots[size] = found[hit]
        v[size] = v[left[hit]] * v[right[hit]]
        parents[n_parents] = size
        n_parents += new[hit] & is_parent[max(found[hit], 0)]
        size += new[hit]
    return done, size, n_parents


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def emit(
    csr: CSR, row: int, table: Buckets, scratch: Scratch, work: Worklist, learning: bool
) -> tuple[int, int]:
    """Expand a row into the scratch; returns how many features, and how many of them are base.

    Only a row that is learned claims empty buckets.
    """
    slots, parents = scratch.slots, work.parents
    base = emit_base(csr, row, table.scale, table.variable_keys, scratch)
    table.counts[ROWS] += 1
    n_parents = 0
    for i in range(base):
        parents[n_parents] = i
        n_parents += table.parent[slots[i]]
    size, done = base + 1, 0
    if len(table.children):
        while done < n_parents:
            size, n_parents = _multiply(
                parents[done], base, table, scratch, work, size, n_parents, learning
            )
            done += 1
    while done < n_parents:
        done, size, n_parents = _multiply_batch(
            done, base, table, scratch, work, size, n_parents, learning
        )
    return size, base
