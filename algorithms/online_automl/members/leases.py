"""Leases of the members of a pool: which of them is worth its time on this stream.

ChaCha gives leases of examples to configurations that all cost the same. Members of a pool do
not: on a linear stream trees say nothing that the linear models do not, and would take most of the
time. So a member is granted a lease of examples, at the end of which it shows what it is worth:
the share of the loss of today's prediction, or of another that it is held against, that an average
of it and a quarter of the member would have saved. It goes on, for a lease that is twice as long,
if that is at least `PRICE` for each time that today's prediction costs. Otherwise it pauses: it
neither predicts nor learns, and what it is said to predict is today's prediction. The pause is
followed by a new lease, and each pause is twice as long as the one before, so that what is useless
costs less and less.

Costs are counted in operations, so the same stream gives the same leases on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.plain import Saved

TRIAL, LONGEST = 1024, 8192
"""Examples of a lease after a pause, and of the longest."""

FIRST_PAUSE = 4096

PRICE = 0.005

OPERATIONS = 1000.0
"""Operations a microsecond, of one core of an AMD EPYC of 2024."""

AWAKE, SINCE, LENGTH, PAUSE, SAVED = range(5)
"""The fields of a member: whether it has a lease, since which example, of how many; the next
pause; and the loss that it saved in this lease."""


class Leases(Saved):
    """Leases of the members of a pool.

    Parameters
    ----------
    first : sequence of int
        Examples of the first lease of each.

    Attributes
    ----------
    table : ndarray of float64, shape (n_members, 5)
        See `AWAKE` and those after it.
    lost : ndarray of float64, shape (n_members,)
        Loss of today's prediction in this lease.
    due : float
        The example after which a lease or a pause ends.
    """

    kept: ClassVar[tuple[str, ...]] = ("table", "lost")

    def __init__(self, first: Sequence[int]) -> None:
        self.table = np.zeros((len(first), 5))
        self.table[:, [AWAKE, PAUSE]] = 1.0, FIRST_PAUSE
        self.table[:, LENGTH] = first
        self.lost = np.zeros(len(first))
        self.due = float(min(first))

    def end(self, member: int, at: int, pause: float = math.inf) -> None:
        """Let a member pause after `at` examples, for good unless a length is given."""
        row = self.table[member]
        row[AWAKE], row[SINCE], row[LENGTH] = 0.0, at, pause

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        self.plan()

    def plan(self) -> None:
        """Find when the next lease or pause ends."""
        self.due = float((self.table[:, SINCE] + self.table[:, LENGTH]).min())

    def review(self, at: int, operations: Sequence[float], today: float) -> None:
        """Decide after `at` examples, by what members and today's prediction cost an example."""
        for member, row in enumerate(self.table):
            if at - row[SINCE] < row[LENGTH]:
                continue
            paused = not row[AWAKE]
            gain = row[SAVED] / self.lost[member] if self.lost[member] > 0.0 else 0.0
            if paused or gain >= PRICE * operations[member] / today:
                row[LENGTH] = TRIAL if paused else min(2.0 * row[LENGTH], LONGEST)
                row[AWAKE], row[SINCE] = 1.0, at
            else:
                self.end(member, at, row[PAUSE])
                row[PAUSE] *= 2.0
            row[SAVED] = self.lost[member] = 0.0
        self.plan()
