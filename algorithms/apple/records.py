"""Learners of sparse rows: all that is known of a slot lies side by side, in a record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.apple.learner import MonomialLearner
from leaseboard.algorithms.apple.sparse_rows import Records, Update
from leaseboard.algorithms.apple.update import UNSEEN

RECORD = np.dtype(
    [("w", np.float32), ("g", np.float32), ("inverse", np.float32), ("stamp", np.uint32)],
    align=True,
)
"""A slot: ω, γ, 1 / N, and the number of the last row that emitted it, where anyone asks."""

LINE = 64
"""Bytes of a cache line."""


class RecordLearner(MonomialLearner):
    """A learner whose slots are records: a look-up costs one cache line, whatever it asks.

    Attributes
    ----------
    records : structured ndarray, shape (n_slots,)
        Each field is also an attribute of the learner, a view of the records.
    residual_moments, square_moments : ndarray of float64
        The sums of the SSM heuristic for each slot, or empty.
    """

    records: Records
    stamp: NDArray[np.uint32]
    residual_moments: NDArray[np.float64]
    square_moments: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        """Without the views, which would come back as copies."""
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

    @property
    def _update(self) -> Update:
        moments = (self.residual_moments, self.square_moments)
        return Update(self.totals, *moments, self._rate, self.sgd)
