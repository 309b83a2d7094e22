"""Learners of sparse rows: what they share, and the full expansion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.expanders import FullExpander
from leaseboard.algorithms.apple.learner import Learning, MonomialLearner
from leaseboard.algorithms.apple.update import EXAMPLES, UNSEEN
from leaseboard.algorithms.environments.holdout import Rows
from leaseboard.algorithms.errors import SkipError

RECORD = np.dtype(
    [("w", np.float32), ("g", np.float32), ("inverse", np.float32), ("last_row", np.uint32)],
    align=True,
)
"""A slot: ω, γ, 1 / N, and the number of the last row that emitted it, where anyone asks."""

LINE = 64
"""Bytes of a cache line."""


class RecordLearner(MonomialLearner):
    """Learner whose slots are records: any look-up costs one cache line.

    Attributes
    ----------
    records : structured ndarray, shape (n_slots,)
        Each field is also an attribute of the learner, a view of the records.
    """

    records: NDArray[np.void]
    last_row: NDArray[np.uint32]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the views, which would come back as copies."""
        fields = self.records.dtype.names or ()
        return {name: value for name, value in vars(self).items() if name not in fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._link()

    def _allocate(self, n_slots: int, *, moments: bool) -> None:
        """Empty slots, and base features never seen; no slot straddles two lines."""
        raw = np.zeros(n_slots * RECORD.itemsize + LINE, dtype=np.uint8)
        start = -raw.ctypes.data % LINE
        self.records = raw[start : start + n_slots * RECORD.itemsize].view(RECORD)
        self._link()
        self.inverse[: self.n_variables + 1] = 1 / UNSEEN
        self.residual_moments = np.zeros(n_slots if moments else 0)
        self.square_moments = self.residual_moments.copy()

    def _link(self) -> None:
        for name in self.records.dtype.names or ():
            setattr(self, name, self.records[name])


MOST_PRODUCTS = 2**25
"""A row may have so many products; they take 40 bytes each, once."""


class FullLearner(RecordLearner):
    """All monomials up to a degree, as VW's ``--interactions ::`` has them: nothing is chosen.

    Every product of up to `degree` features of a row is emitted once and lives in the bucket of
    its key. Products that hash to the same bucket share its weight: at these numbers no table
    could separate them, and their names are not needed.

    Parameters
    ----------
    n_variables : int
    learning : Learning
    degree : int
    indicators : ndarray of bool, shape (n_variables,)
        Columns of zeros and ones, which are their own squares.
    """

    def __init__(
        self, n_variables: int, learning: Learning, degree: int, indicators: NDArray[np.bool_]
    ) -> None:
        super().__init__(n_variables, learning)
        self.full_degree = degree
        self.indicators = indicators
        self._allocate(n_variables + 1 + (1 << learning.bits), moments=False)
        self.inverse[:] = 1 / UNSEEN

    @property
    def size(self) -> int:
        """The base variables and the buckets in use, however many monomials share them."""
        buckets = self.inverse[self.n_variables + 1 :]
        return self.n_variables + int(np.count_nonzero(buckets < 1 / UNSEEN))

    @property
    def max_degree(self) -> int:
        """The degree of the expansion."""
        return self.full_degree

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """Take the scale of the first rows: N of a shared bucket cannot follow a new one."""
        if not self.totals[EXAMPLES]:
            self.magnitude = magnitude

    def _expander(self, rows: Rows) -> FullExpander:
        rows = sparse.csr_array(rows)
        longest = int(np.diff(rows.indptr).max(initial=0))
        longest_row = math.comb(longest + self.full_degree, self.full_degree)
        if longest_row > MOST_PRODUCTS:
            raise SkipError(
                f"a row of {longest} features has {longest_row:.3g} products of up to"
                f" {self.full_degree}, more than {MOST_PRODUCTS}: lower the degree"
            )
        return FullExpander(self, rows, longest_row)
