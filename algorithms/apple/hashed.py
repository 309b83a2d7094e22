"""The kernel for sparse rows: monomials found as the examples need them, in a table of 2^bits.

A monomial of degree two or more owns the bucket of its key if it came first; another one that
hashes to the same bucket is dropped (and counted). Dropping beat sharing the weight where the
table was crowded, and was equal elsewhere. Base features have slots of their own.

A row emits its base features, then works through those of them that are parents: each emits its
products with the base features, and products that are parents join the queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.apple.learner import (
    GrowingLearner,
    Learning,
    Monomial,
    mix,
    monomial_key,
    tag_of,
)
from leaseboard.algorithms.apple.sparse import (
    CSR,
    RecordLearner,
    Records,
    Scratch,
    emit_base,
    learn_emitted,
    new_scratch,
    predict_emitted,
)
from leaseboard.algorithms.apple.update import DROPPED, UNSEEN, Update, clamp
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.holdout import Floats, Rows

CLAIMED, COLLISIONS, ROWS = range(3)

EMPTY, TAKEN = -1, -2
"""In place of a slot: the bucket is free; another monomial owns it."""

Int = int | np.integer[Any]


class Buckets(NamedTuple):
    """Slots of a `HashedLearner` and its buckets, as the kernels see them.

    A bucket only says which slot its monomial has. Slots are given in the order in which monomials
    come, so that the frequent ones, which come first, lie close together and stay in a near cache.

    The mixed key of a monomial is its bucket, the top `bits`, and a rest. `tags` is one byte of
    each bucket's rest, 0 in an empty bucket: small enough for a near cache, it answers most
    look-ups of a crowded table. `owners` is the rest and, in the low `bits`, the number of the
    monomial, which is exact. `counts` holds the number of monomials, the collisions dropped and
    the rows expanded.
    """

    records: Records
    keys: NDArray[np.uint64]
    source: NDArray[np.uint32]
    variable: NDArray[np.uint32]
    degree: NDArray[np.uint8]
    parent: NDArray[np.bool_]
    tags: NDArray[np.uint8]
    owners: NDArray[np.uint64]
    counts: NDArray[np.int64]
    scale: NDArray[np.float64]
    variable_keys: NDArray[np.uint64]
    bits: int


@compiled
def find(table: Buckets, key: np.uint64) -> Int:
    """Return the slot of a monomial of degree two or more, EMPTY or TAKEN."""
    bits, mixed = np.uint64(table.bits), mix(key)
    bucket = mixed >> (np.uint64(64) - bits)
    if table.tags[bucket] == 0:
        return EMPTY
    owner = table.owners[bucket]
    if owner >> bits != mixed << bits >> bits:
        return TAKEN
    number = owner & ((np.uint64(1) << bits) - np.uint64(1))
    return np.int64(number) + len(table.scale) + 1


@compiled
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


@compiled
def adopt(table: Buckets, other: Buckets, slots: NDArray[np.intp], here: NDArray[np.intp]) -> None:
    """Fill `here` with the slots of another table's monomials; -1 marks those without a slot."""
    for slot in slots:
        source = here[other.source[slot]]
        here[slot] = find(table, other.keys[slot])
        if here[slot] == EMPTY and source >= 0:
            here[slot] = claim(table, other.keys[slot], source, other.variable[slot])


@compiled
def place_of(table: Buckets, source: Int, variable: Int, learning: bool) -> Int:
    """Return the slot of a product, claimed if it may be; negative if it has none."""
    key = table.keys[source] + table.variable_keys[variable]
    slot = find(table, key)
    if slot == EMPTY and learning:
        return claim(table, key, source, variable)
    return slot


BATCH = 1024
"""So many hits are looked up together, and those of one parent more."""


class Worklist(NamedTuple):
    """Places of a row's parents among its emitted features, and a batch of look-ups.

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


@compiled(inline="always")
def look_up(
    place: Int,
    base: int,
    table: Buckets,
    scratch: Scratch,
    work: Worklist,
    n_hits: int,
    claims: bool,
) -> int:
    """Append the hits of the parent at `place` to the `n_hits` there are; return their number.

    Neither loop branches: in a crowded table the answer cannot be predicted, and most say no.
    """
    keys, tags, mixed, right = scratch.keys, table.tags, work.mixed, work.right
    # A product's key is the sum of its factors' keys.
    key = table.keys[scratch.slots[place]]
    for i in range(base):
        mixed[i] = mix(key + keys[i])
    # Keep the places whose bucket's tag is the product's own, or empty where that may be claimed.
    shift = np.uint64(64 - table.bits)
    first = n_hits
    for i in range(base):
        tag = tags[mixed[i] >> shift]
        right[n_hits] = i
        n_hits += (tag == tag_of(mixed[i])) | (claims & (tag == 0))
    # Copy the mixed keys of those that were kept.
    for hit in range(first, n_hits):
        work.left[hit] = place
        work.hits[hit] = mixed[right[hit]]
    return n_hits


@compiled(inline="always")
def locate(table: Buckets, work: Worklist, n_hits: int) -> None:
    """Write the slots of the hits to `found`; -1 where only `place_of` knows.

    No iteration waits for the one before, though each reads far memory.
    """
    owners, hits, found = table.owners, work.hits, work.found
    bits, first = np.uint64(table.bits), len(table.scale) + 1
    shift, numbers = np.uint64(64) - bits, (np.uint64(1) << bits) - np.uint64(1)
    for hit in range(n_hits):
        # An owner is the rest of its mixed key, and in the low bits the number of its slot.
        key = hits[hit]
        owner = owners[key >> shift]
        sure = (owner != 0) & (owner >> bits == key << bits >> bits)
        found[hit] = np.int64(owner & numbers) + first if sure else -1


@compiled(error_model="numpy", inline="always")
def _multiply_batch(
    done: int, base: int, table: Buckets, scratch: Scratch, work: Worklist, size: int,
    n_parents: int, learning: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Emit the products of some parents from place `done` of the worklist on, looked up together.

    Takes and returns how many parents are done, and how many features and parents the row has.
    """
    records, is_parent, counts = table.records, table.parent, table.counts
    slots, v = scratch.slots, scratch.v
    parents, left, right, found, new = work.parents, work.left, work.right, work.found, work.new
    last_row = np.uint32(counts[ROWS])
    n_hits = 0
    dropped = 0
    # Look up the products of parents until the batch is full; no hit means that it was dropped.
    while done < n_parents and n_hits < BATCH:
        n_hits = look_up(parents[done], base, table, scratch, work, n_hits, learning)
        dropped += base
        done += 1
    dropped -= n_hits
    locate(table, work, n_hits)
    # Claim an empty bucket, or drop what belongs to another monomial.
    for hit in range(n_hits):
        if found[hit] < 0:
            source, variable = slots[left[hit]], slots[right[hit]]
            found[hit] = place_of(table, source, variable, learning)
            dropped += found[hit] < 0
    if learning:
        counts[COLLISIONS] += dropped
    # Stamp what the row emits for the first time.
    for hit in range(n_hits):
        record = records[max(found[hit], 0)]
        new[hit] = (record.last_row != last_row) & (found[hit] >= 0)
        record.last_row = last_row
    # Write all, and count those that are new.
    for hit in range(n_hits):
        slots[size] = found[hit]
        v[size] = v[left[hit]] * v[right[hit]]
        parents[n_parents] = size
        n_parents += new[hit] & is_parent[max(found[hit], 0)]
        size += new[hit]
    return done, size, n_parents


@compiled(error_model="numpy", inline="always")
def emit(
    csr: CSR, row: int, table: Buckets, scratch: Scratch, work: Worklist, learning: bool
) -> tuple[int, int]:
    """Expand a row into the scratch; return how many features it has, and how many are base.

    Only a row that is learned claims empty buckets.
    """
    slots, parents = scratch.slots, work.parents
    base = emit_base(csr, row, table.scale, table.variable_keys, scratch)
    table.counts[ROWS] += 1
    # The first parents are base features.
    n_parents = 0
    for i in range(base):
        parents[n_parents] = i
        n_parents += table.parent[slots[i]]
    # Multiply parents, those among their products too, until none is left.
    size, done = base + 1, 0
    while done < n_parents:
        done, size, n_parents = _multiply_batch(
            done, base, table, scratch, work, size, n_parents, learning
        )
    return size, base


@compiled(error_model="numpy")
def _learn(
    csr: CSR,
    labels: Floats,
    weights: Floats,
    table: Buckets,
    scratch: Scratch,
    work: Worklist,
    update: Update,
    out: Floats,
) -> int:
    for t in range(len(labels)):
        size, base = emit(csr, t, table, scratch, work, True)
        p = learn_emitted(table.records, scratch, size, base, labels[t], weights[t], update)
        if not np.isfinite(p):
            return t
        out[t] = p
    return -1


@compiled(error_model="numpy")
def _predict(
    csr: CSR,
    table: Buckets,
    scratch: Scratch,
    work: Worklist,
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = emit(csr, t, table, scratch, work, False)
        out[t] = clamp(predict_emitted(table.records, scratch, size), low, high)


MOST_ROWS = 2**32 - 1


class HashedLearner(RecordLearner, GrowingLearner):
    """Learner for sparse rows of any width; its memory is the table and the base features."""

    kernels = (_learn, _predict)

    def __init__(self, n_variables: int, learning: Learning) -> None:
        super().__init__(n_variables, learning)
        d, buckets = n_variables, 1 << learning.bits
        size = d + 1 + buckets
        self._allocate(size, moments=learning.moments)
        self._base_slots(size)
        self.tags = np.zeros(buckets, dtype=np.uint8)
        self.owners = np.zeros(buckets, dtype=np.uint64)
        self.counts = np.zeros(3, dtype=np.int64)

    def slots(self) -> NDArray[np.intp]:
        """Return the base variables, then the monomials in the order of their first example."""
        used = np.arange(self.n_variables + self.counts[CLAIMED])
        used[self.n_variables :] += 1
        return used

    def expand(self, parents: Iterable[Monomial]) -> None:
        """Mark `parents`; their children claim buckets when an example first has them."""
        table = self._table()
        for monomial in sorted(parents, key=len):
            slot = self._slot(monomial, table)
            if slot is not None:
                self.parent[slot] = True

    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """See `GrowingLearner.places_of`; monomials that are new here claim buckets, by degree."""
        slots = other.slots()
        slots = slots[np.argsort(other.degree[slots], kind="stable")]
        here = np.full(len(other.keys), -1)
        here[: self.n_variables + 1] = np.arange(self.n_variables + 1)
        adopt(self._table(), other._table(), slots[self.n_variables :], here)
        shared = np.flatnonzero(here >= 0)
        return shared, here[shared]

    def _slot(self, monomial: Monomial, table: Buckets) -> int | None:
        """Return a monomial's slot, claimed if it was empty; None if another owns it."""
        if len(monomial) == 1:
            return monomial[0]
        key = monomial_key(monomial, self.variable_keys)
        slot = int(find(table, key))
        if slot == EMPTY:
            source = self._slot(monomial[:-1], table)
            if source is None:
                return None
            slot = int(claim(table, key, source, monomial[-1]))
        return None if slot == TAKEN else slot

    def _table(self, n_rows: int = 0) -> Buckets:
        """Return the table, with stamps left for so many rows."""
        if self.counts[ROWS] + n_rows > MOST_ROWS:
            self.counts[ROWS] = 0
            self.last_row[:] = 0
        return Buckets(
            self.records, self.keys, self.source, self.variable, self.degree, self.parent,
            self.tags, self.owners, self.counts, self._scale,
            self.variable_keys, self.learning.bits,
        )  # fmt: skip

    def _scratch(self, csr: CSR) -> tuple[Scratch, Worklist]:
        """Return room for the expansion of any row."""
        longest = int(np.diff(csr.indptr).max(initial=0))
        parents = np.empty(len(self.keys) + 1, dtype=np.uint32)
        batch = BATCH + longest
        left, right = (np.empty(batch, dtype=np.uint32) for _ in range(2))
        work = Worklist(
            parents, np.empty(longest, dtype=np.uint64), left, right,
            hits=np.empty(batch, dtype=np.uint64),
            found=np.empty(batch, dtype=np.int64),
            new=np.empty(batch, dtype=np.bool_),
        )  # fmt: skip
        return new_scratch(len(self.keys)), work

    def _learn(self, rows: Rows, labels: Floats, weights: Floats, out: Floats) -> int:
        bad = super()._learn(rows, labels, weights, out)
        self.totals[DROPPED] = self.counts[COLLISIONS]
        return bad
