"""The kernel for sparse rows: monomials found as the examples need them, in a table of 2^bits.

An example emits its base features, then works through that very list: each emitted monomial that
is a parent emits its products with the base features, each once. A monomial of degree two or more
lives in the bucket of its key and the first owner keeps it; another monomial that hashes to the
same bucket is dropped (and counted). Dropping beat sharing the weight where the table was
crowded, and was equal elsewhere. Base features have slots of their own and never collide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.apple.growing import GrowingLearner
from algorithms.apple.learner import Learning
from algorithms.apple.monomials import Monomial, bucket_of, monomial_key, tag_of
from algorithms.apple.sparse_rows import (
    CSR,
    Scratch,
    csr_of,
    emit_base,
    learn_emitted,
    new_scratch,
    new_state,
    predict_emitted,
)
from algorithms.apple.update import DROPPED, EXAMPLES, FAST, NONZEROS, clamp
from algorithms.benches.holdout import Floats, Rows

KEY, STAMP = range(2)
CLAIMED, COLLISIONS, ROWS = range(3)

Int = int | np.integer[Any]


class Table(NamedTuple):
    """The slots of a `HashedLearner` as its kernels see them.

    `owner` holds the key of a slot's monomial (0 in an empty bucket) beside the number of the
    last row that emitted it, so that a look-up costs one cache line. `tag` is one byte of that
    key, 0 in an empty bucket: small enough for a nearer cache, it answers most look-ups of a
    crowded table. `claimed` lists the buckets in use; `counts` holds their number, the
    collisions dropped and the rows expanded.
    """

    owner: NDArray[np.uint64]
    tag: NDArray[np.uint8]
    source: NDArray[np.uint32]
    variable: NDArray[np.uint32]
    degree: NDArray[np.uint8]
    parent: NDArray[np.bool_]
    claimed: NDArray[np.uint32]
    counts: NDArray[np.int64]


class HashedLearner(GrowingLearner):
    """A learner for sparse rows of any width; its memory is the table and the base features."""

    def __init__(self, n_variables: int, learning: Learning) -> None:
        super().__init__(n_variables, learning)
        d, buckets = n_variables, 1 << learning.bits
        size = d + 1 + buckets
        self.state = new_state(size)
        self.owner = np.zeros((size, 2), dtype=np.uint64)
        self._link()
        self.tag = np.zeros(size, dtype=np.uint8)
        self.keys[:d] = self.variable_keys
        self.source = np.full(size, d, dtype=np.uint32)
        self.variable = np.zeros(size, dtype=np.uint32)
        self.variable[:d] = np.arange(d)
        self.degree = np.zeros(size, dtype=np.uint8)
        self.degree[:d] = 1
        self.parent = np.zeros(size, dtype=np.bool_)
        self.claimed = np.empty(buckets, dtype=np.uint32)
        self.counts = np.zeros(3, dtype=np.int64)
        self.residual_moments = np.zeros(size if learning.moments else 0)
        self.square_moments = self.residual_moments.copy()

    def slots(self) -> NDArray[np.intp]:
        """The base variables, then the buckets in the order of their first example."""
        base = np.arange(self.n_variables)
        return np.append(base, self.claimed[: self.counts[CLAIMED]].astype(np.intp))

    def expand(self, parents: Iterable[Monomial]) -> None:
        """Mark `parents`; their children claim buckets when an example first has them."""
        for monomial in sorted(parents, key=len):
            slot = self._slot(monomial)
            if slot is not None:
                self.parent[slot] = True

    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The same slots in both; an empty bucket here is claimed, a foreign one left out."""
        slots = other.slots()
        slots = slots[np.argsort(other.degree[slots], kind="stable")]
        table = self._table()
        for slot in slots[self.keys[slots] == 0]:
            source = other.source[slot]
            if self.keys[source] == other.keys[source]:
                _claim(table, slot, other.keys[slot], source, other.variable[slot])
        shared = slots[self.keys[slots] == other.keys[slots]]
        shared = np.append(shared, self.n_variables)
        return shared, shared

    def __getstate__(self) -> dict[str, Any]:
        """Without the views, which would come back as copies."""
        views = ("w", "g", "inverse", "keys")
        return {name: value for name, value in vars(self).items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._link()

    def _link(self) -> None:
        self.w, self.g, self.inverse = (self.state[:, column] for column in range(3))
        self.keys = self.owner[:, KEY]

    def _slot(self, monomial: Monomial) -> int | None:
        """The slot of a monomial, claimed if it was empty; None if another owns its bucket."""
        if len(monomial) == 1:
            return monomial[0]
        key = monomial_key(monomial, self.variable_keys)
        slot = self.n_variables + 1 + int(bucket_of(key, self.learning.bits))
        if self.keys[slot] == 0:
            source = self._slot(monomial[:-1])
            if source is None:
                return None
            _claim(self._table(), slot, key, source, monomial[-1])
        return slot if self.keys[slot] == key else None

    def _table(self) -> Table:
        places = (self.source, self.variable, self.degree, self.parent)
        return Table(self.owner, self.tag, *places, self.claimed, self.counts)

    def _learn(self, rows: Rows, labels: Floats, out: Floats) -> int:
        return _learn(
            csr_of(rows), labels, self._table(), self.state, new_scratch(len(self.keys)),
            self._scale, self.variable_keys, self.learning.bits, self.residual_moments,
            self.square_moments, self.totals, self._rate, self.sgd, out,
        )  # fmt: skip

    def _predict(self, rows: Rows, fixed: float, low: float, high: float, out: Floats) -> None:
        _predict(
            csr_of(rows), self._table(), self.state, new_scratch(len(self.keys)), self._scale,
            self.variable_keys, self.learning.bits, fixed, low, high, out,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _claim(table: Table, slot: Int, key: np.uint64, source: Int, variable: Int) -> None:
    """Make `key` the owner of an empty bucket."""
    table.owner[slot, KEY] = key
    table.tag[slot] = tag_of(key)
    table.source[slot] = source
    table.variable[slot] = variable
    table.degree[slot] = table.degree[source] + 1
    table.claimed[table.counts[CLAIMED]] = slot
    table.counts[CLAIMED] += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _emit(
    csr: CSR,
    row: int,
    table: Table,
    scratch: Scratch,
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    bits: int,
    learning: bool,
) -> tuple[int, int]:
    """Expand a row into the scratch; returns how many features, and how many of them are base.

    Only a row that is learned claims empty buckets.
    """
    base = emit_base(csr, row, scale, scratch)
    slots, v, keys, buckets = scratch.slots, scratch.v, scratch.keys, scratch.buckets
    for i in range(base):
        keys[i] = variable_keys[slots[i]]
    first_bucket = np.int64(len(scale) + 1)
    table.counts[ROWS] += 1
    stamp = np.uint64(table.counts[ROWS])
    size = base + 1
    collisions = 0
    place = -1
    while place + 1 < size:
        place += 1
        source = slots[place]
        if not table.parent[source]:
            continue
        source_key, source_value = table.owner[source, KEY], v[place]
        for i in range(base):
            buckets[i] = np.uint32(first_bucket + bucket_of(source_key + keys[i], bits))
        for i in range(base):
            key, slot = source_key + keys[i], buckets[i]
            if table.tag[slot] != tag_of(key) or table.owner[slot, KEY] != key:
                if not learning:
                    continue
                if table.tag[slot] != 0:
                    collisions += 1
                    continue
                _claim(table, slot, key, source, slots[i])
            if table.owner[slot, STAMP] != stamp:
                table.owner[slot, STAMP] = stamp
                slots[size] = slot
                v[size] = source_value * v[i]
                size += 1
    if learning:
        table.counts[COLLISIONS] += collisions
    return size, base


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _learn(
    csr: CSR,
    labels: Floats,
    table: Table,
    state: Floats,
    scratch: Scratch,
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    bits: int,
    residual_moments: NDArray[np.float64],
    square_moments: NDArray[np.float64],
    totals: NDArray[np.float64],
    rate: float,
    sgd: bool,
    out: Floats,
) -> int:
    slots, v = scratch.slots, scratch.v
    for t in range(len(labels)):
        size, base = _emit(csr, t, table, scratch, scale, variable_keys, bits, True)
        p = learn_emitted(state, scratch, size, labels[t], rate, sgd, totals)
        totals[EXAMPLES] += 1
        totals[NONZEROS] += base + 1
        totals[DROPPED] = table.counts[COLLISIONS]
        if not np.isfinite(p):
            return t
        out[t] = p
        if len(square_moments):
            residual = np.float64(labels[t] - p) ** 2
            for i in range(size):
                square = np.float64(v[i]) ** 2
                residual_moments[slots[i]] += residual * square
                square_moments[slots[i]] += square
    return -1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _predict(
    csr: CSR,
    table: Table,
    state: Floats,
    scratch: Scratch,
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    bits: int,
    fixed: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = _emit(csr, t, table, scratch, scale, variable_keys, bits, False)
        out[t] = clamp(predict_emitted(state, scratch, size, fixed), low, high)
