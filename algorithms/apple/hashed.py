"""The kernel for sparse rows: monomials found as the examples need them, in a table of 2^bits.

A monomial of degree two or more owns the bucket of its key if it came first; another one that
hashes to the same bucket is dropped (and counted). Dropping beat sharing the weight where the
table was crowded, and was equal elsewhere. Base features have slots of their own. Where parents
times variables fit into the table's size, what a product's bucket said is remembered for each
parent and variable, and asked once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.apple.buckets import (
    CLAIMED,
    COLLISIONS,
    EMPTY,
    FOREIGN,
    ROWS,
    Buckets,
    adopt,
    claim,
    find,
)
from algorithms.apple.expansion import BATCH, Worklist, emit
from algorithms.apple.growing import GrowingLearner
from algorithms.apple.learner import Learning
from algorithms.apple.monomials import Monomial, monomial_key
from algorithms.apple.records import RecordLearner
from algorithms.apple.sparse_rows import (
    CSR,
    Scratch,
    Update,
    csr_of,
    learn_emitted,
    new_scratch,
    predict_emitted,
)
from algorithms.apple.update import DROPPED, FAST, clamp
from algorithms.benches.holdout import Floats, Rows

MOST_STAMPS = 2**32 - 1


class HashedLearner(RecordLearner, GrowingLearner):
    """A learner for sparse rows of any width; its memory is the table and the base features."""

    def __init__(self, n_variables: int, learning: Learning) -> None:
        super().__init__(n_variables, learning)
        d, buckets = n_variables, 1 << learning.bits
        size = d + 1 + buckets
        self._allocate(size, moments=learning.moments)
        self.keys = np.zeros(size, dtype=np.uint64)
        self.keys[:d] = self.variable_keys
        self.source = np.zeros(size, dtype=np.uint32)
        self.source[: d + 1] = d
        self.variable = np.zeros(size, dtype=np.uint32)
        self.variable[:d] = np.arange(d)
        self.degree = np.zeros(size, dtype=np.uint8)
        self.degree[:d] = 1
        self.parent = np.zeros(size, dtype=np.bool_)
        self.tags = np.zeros(buckets, dtype=np.uint8)
        self.owners = np.zeros(buckets, dtype=np.uint64)
        self.family = np.zeros(size, dtype=np.uint32)
        self.children = np.empty((0, d), dtype=np.int32)
        self.counts = np.zeros(3, dtype=np.int64)

    def slots(self) -> NDArray[np.intp]:
        """The base variables, then the monomials in the order of their first example."""
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
        self._number_families()

    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Monomials of `other` that are not here claim empty buckets, by degree."""
        slots = other.slots()
        slots = slots[np.argsort(other.degree[slots], kind="stable")]
        here = np.full(len(other.keys), -1)
        here[: self.n_variables + 1] = np.arange(self.n_variables + 1)
        adopt(self._table(), other._table(), slots[self.n_variables :], here)
        shared = np.flatnonzero(here >= 0)
        return shared, here[shared]

    def _number_families(self) -> None:
        """Room to remember all parents' children, or none if it were more than the table's."""
        parents = np.flatnonzero(self.parent)
        remembered = len(parents) * self.n_variables <= 1 << self.learning.bits
        self.family[parents] = np.arange(len(parents))
        shape = (len(parents) if remembered else 0, self.n_variables)
        self.children = np.full(shape, EMPTY, dtype=np.int32)

    def _slot(self, monomial: Monomial, table: Buckets) -> int | None:
        """The slot of a monomial, claimed if it was empty; None if another owns its bucket."""
        if len(monomial) == 1:
            return monomial[0]
        key = monomial_key(monomial, self.variable_keys)
        slot = int(find(table, key))
        if slot == EMPTY:
            source = self._slot(monomial[:-1], table)
            if source is None:
                return None
            slot = int(claim(table, key, source, monomial[-1]))
        return None if slot == FOREIGN else slot

    def _table(self, n_rows: int = 0) -> Buckets:
        """The table, with stamps left for so many rows."""
        if self.counts[ROWS] + n_rows > MOST_STAMPS:
            self.counts[ROWS] = 0
            self.stamp[:] = 0
        return Buckets(
            self.records, self.keys, self.source, self.variable, self.degree, self.parent,
            self.tags, self.owners, self.family, self.children, self.counts, self._scale,
            self.variable_keys, self.learning.bits,
        )  # fmt: skip

    def _room(self, csr: CSR) -> tuple[Scratch, Worklist]:
        """Room for any row, whatever it emits."""
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
        csr = csr_of(rows)
        bad: int = _learn(
            csr, labels, weights, self._table(len(labels)), *self._room(csr), self._update, out
        )
        self.totals[DROPPED] = self.counts[COLLISIONS]
        return bad

    def _predict(self, rows: Rows, fixed: float, low: float, high: float, out: Floats) -> None:
        csr = csr_of(rows)
        _predict(csr, self._table(len(out)), *self._room(csr), fixed, low, high, out)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _predict(
    csr: CSR,
    table: Buckets,
    scratch: Scratch,
    work: Worklist,
    fixed: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = emit(csr, t, table, scratch, work, False)
        out[t] = clamp(predict_emitted(table.records, scratch, size, fixed), low, high)
