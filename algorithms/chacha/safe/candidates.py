"""Who is considered: the champion's frontier, who waits, and with which lease."""

from __future__ import annotations

import bisect
from typing import ClassVar


class Candidates:
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    frontier : set of int
        What the oracle proposed for the present champion.
    pending : list of int
        Members of the frontier that are not live, in the order in which they get free slots
        (Choose, algorithm 3): first who never had a lease, then by the least lease; among equals
        who came first.
    eliminated : set of int
        Who has left for good.
    leases : dict of int to int
        The lease that a paused configuration will get, in examples.
    """

    kept: ClassVar[tuple[str, ...]] = ("frontier", "pending", "eliminated", "leases")

    def __init__(self) -> None:
        self.frontier: set[int] = set()
        self.pending: list[int] = []
        self.eliminated: set[int] = set()
        self.leases: dict[int, int] = {}

    def forget_frontier(self) -> None:
        """A new champion brings its own."""
        self.frontier = set()
        self.pending = []
        self.leases = {}

    def join(self, number: int, *, live: bool) -> None:
        """Add a configuration to the frontier; it waits if it is neither live nor eliminated."""
        self.frontier.add(number)
        if not live and number not in self.eliminated and number not in self.pending:
            self._wait(number)

    def pause(self, number: int, lease: int) -> None:
        """Let `number` wait for its next lease, if the champion's frontier has it."""
        self.leases[number] = lease
        if number in self.frontier:
            self._wait(number)

    def _wait(self, number: int) -> None:
        bisect.insort(self.pending, number, key=lambda other: self.leases.get(other, 0))
