"""The examples that a challenger and the champion have in common, and what they prove."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.mixture import ADVANTAGE, LOSS, SQUARES
from algorithms.chacha.paired import better, critical_value, radius, worse

Slots = NDArray[np.int64]
Doubles = NDArray[np.float64]


class CommonWindows:
    """One window for each slot, from when its model became the champion's challenger.

    Parameters
    ----------
    n_slots : int
    round_length : int
        Examples between two looks.
    delta : float
        δ of the paired tests.

    Attributes
    ----------
    sums : ndarray of float64, shape (n_slots, 3)
        See `algorithms.chacha.mixture.mix`, which fills them.
    starts : ndarray of int64, shape (n_slots,)
        The example before which each window begins.
    """

    def __init__(self, n_slots: int, round_length: int, delta: float) -> None:
        self.round_length, self.delta = round_length, delta
        self.sums = np.zeros((n_slots, 3))
        self.starts = np.zeros(n_slots, dtype=np.int64)

    def begin(self, slots: int | slice, at: int) -> None:
        """Begin the windows of `slots` anew."""
        self.sums[slots] = 0
        self.starts[slots] = at

    def seen(self, slots: Slots, at: int) -> Slots:
        """How many examples the windows have."""
        return np.asarray(at - self.starts[slots])

    def advantages(self, slots: Slots, at: int) -> Doubles:
        """By how much the challengers' mean losses are below the champion's."""
        return np.asarray(self.sums[slots, ADVANTAGE] / self.seen(slots, at))

    def better(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Those of `slots` that are proved better than the champion."""
        advantage, squares, _ = self.sums[slots].T
        return slots[better(advantage, squares, self._critical_values(slots, at, candidates))]

    def worse(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Those of `slots` that are proved worse than the champion."""
        advantage, squares, _ = self.sums[slots].T
        return slots[worse(advantage, squares, self._critical_values(slots, at, candidates))]

    def bounds(
        self, slots: Slots, at: int, candidates: int
    ) -> Iterator[tuple[int, int, float, float]]:
        """For each slot: it, its examples, mean loss, and the radius of the mean difference."""
        n = self.seen(slots, at)
        losses = self.sums[slots, LOSS] / n
        z = self._critical_values(slots, at, candidates)
        widths = radius(self.sums[slots, SQUARES], n, z)
        yield from zip(slots.tolist(), n.tolist(), losses.tolist(), widths.tolist(), strict=True)

    def _critical_values(self, slots: Slots, at: int, candidates: int) -> Doubles:
        looks = -(-self.seen(slots, at) // self.round_length)
        return critical_value(candidates, looks, self.delta)
