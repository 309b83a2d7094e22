"""The examples that a challenger and the champion have in common, and what they prove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.safe.mixture import ADVANTAGE, LOSS, LOSS_SQUARES, SQUARES
from leaseboard.algorithms.chacha.safe.paired import better, critical_value, radius, worse
from leaseboard.algorithms.events import BoundsUpdated

Slots = NDArray[np.int64]
Doubles = NDArray[np.float64]


class CommonWindows:
    """One window for each slot, from when its model became the champion's challenger.

    Parameters
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        See `leaseboard.algorithms.chacha.safe.mixture.mix`, which fills them. The array itself, no
        part of it: of a pickled race a part would be a copy that nothing fills.
    round_length : int
        Examples between two looks.
    delta : float
        δ of the paired tests.

    Attributes
    ----------
    sums : ndarray of float64, shape (n_slots, 4)
        See `leaseboard.algorithms.chacha.safe.mixture.mix`, which fills them.
    starts : ndarray of int64, shape (n_slots,)
        The example before which each window begins.
    """

    kept: ClassVar[tuple[str, ...]] = ("starts",)

    def __init__(self, sums: Doubles, round_length: int, delta: float) -> None:
        self.round_length, self.delta = round_length, delta
        self.sums = sums
        self.starts = np.zeros(len(sums), dtype=np.int64)
        self._known: tuple[int, int, Doubles] | None = None

    def begin(self, slots: int | slice, at: int) -> None:
        """Begin the windows of `slots` anew."""
        self.sums[slots] = 0
        self.starts[slots] = at
        self._known = None

    def seen(self, slots: Slots, at: int) -> Slots:
        """How many examples the windows have."""
        return np.asarray(at - self.starts[slots])

    def advantages(self, slots: Slots, at: int) -> Doubles:
        """By how much the challengers' mean losses are below the champion's."""
        return np.asarray(self.sums[slots, ADVANTAGE] / self.seen(slots, at))

    def below_median(self, slots: Slots, at: int) -> set[int]:
        """The challengers that gained less on the champion than most."""
        if not len(slots):
            return set()
        advantages = self.advantages(slots, at)
        ordered, n = np.sort(advantages), len(advantages)
        median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        return set(slots[advantages < median].tolist())

    def better(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Those of `slots` that are proved better than the champion."""
        advantage, squares = self.sums[slots, ADVANTAGE], self.sums[slots, SQUARES]
        return slots[better(advantage, squares, self._critical_values(slots, at, candidates))]

    def worse(self, slots: Slots, at: int, candidates: int) -> Slots:
        """Those of `slots` that are proved worse than the champion."""
        advantage, squares = self.sums[slots, ADVANTAGE], self.sums[slots, SQUARES]
        return slots[worse(advantage, squares, self._critical_values(slots, at, candidates))]

    def bounds(
        self, slots: Slots, at: int, candidates: int, champion: int
    ) -> Iterator[tuple[int, float, float, float]]:
        """For each slot: it, and its model's mean loss with a lower and an upper bound.

        A challenger's radius is that of its mean difference from the champion: the tests are
        whether its bounds leave out the champion's loss on the same examples. The champion,
        which does not differ from itself, has the radius of its own loss around its mean.
        """
        n = self.seen(slots, at)
        losses = self.sums[slots, LOSS] / n
        own = np.maximum(self.sums[slots, LOSS_SQUARES] - n * losses**2, 0.0)
        squares = np.where(slots == champion, own, self.sums[slots, SQUARES])
        widths = radius(squares, n, self._critical_values(slots, at, candidates))
        lower, upper = np.maximum(losses - widths, 0.0), losses + widths
        yield from zip(
            slots.tolist(), losses.tolist(), lower.tolist(), upper.tolist(), strict=True
        )

    def told(
        self, slots: Slots, at: int, candidates: int, champion: int, holders: Slots, since: Slots
    ) -> Iterator[BoundsUpdated]:
        """`bounds` as events; `holders` are the configurations of slots, live `since` when."""
        for slot, loss, lower, upper in self.bounds(slots, at, candidates, champion):
            number, units = int(holders[slot]), at - int(since[slot])
            yield BoundsUpdated(
                at=at, configuration=number, value=loss, lower=lower, upper=upper, units=units
            )

    def _critical_values(self, slots: Slots, at: int, candidates: int) -> Doubles:
        """Those of `slots`, which have seen examples; all are found at once and kept."""
        known = self._known
        if known is None or known[:2] != (at, candidates):
            looks = np.maximum(-(-(at - self.starts) // self.round_length), 1)
            known = self._known = at, candidates, critical_value(candidates, looks, self.delta)
        return np.asarray(known[2][slots])
