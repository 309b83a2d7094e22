"""The learner of sparse rows: monomials found as the examples need them, in a table of 2^bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.expanders import CLAIMED, EMPTY, ROWS, TAKEN, HashedExpander
from leaseboard.algorithms.apple.learner import GrowingLearner, Learning, Monomial, monomial_key
from leaseboard.algorithms.apple.sparse import RecordLearner
from leaseboard.algorithms.environments.holdout import Rows

MOST_ROWS = 2**32 - 1
"""So many rows have a number each, for the slots that they emit."""


class HashedLearner(RecordLearner, GrowingLearner):
    """Learner for sparse rows of any width; its memory is the table and the base features."""

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
        self._table().adopt(other._table(), slots[self.n_variables :], here)
        shared = np.flatnonzero(here >= 0)
        return shared, here[shared]

    def _slot(self, monomial: Monomial, table: HashedExpander) -> int | None:
        """Return a monomial's slot, claimed if it was empty; None if another owns it."""
        if len(monomial) == 1:
            return monomial[0]
        key = monomial_key(monomial, self.variable_keys)
        slot: int = table.find(key)
        if slot == EMPTY:
            source = self._slot(monomial[:-1], table)
            if source is None:
                return None
            slot = table.claim(key, source, monomial[-1])
        return None if slot == TAKEN else slot

    def _table(self) -> HashedExpander:
        return self._expander(sparse.csr_array((0, self.n_variables), dtype=np.float32))

    def _expander(self, rows: Rows) -> HashedExpander:
        if self.counts[ROWS] + rows.shape[0] > MOST_ROWS:  # stamps of the rows to come
            self.counts[ROWS] = 0
            self.last_row[:] = 0
        return HashedExpander(self, sparse.csr_array(rows))
