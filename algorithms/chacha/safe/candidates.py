"""Who is considered: all configurations by number, the champion's frontier, who waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from algorithms.events import ConfigurationAdmitted
from algorithms.online.configuration import Configuration


class Candidates:
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    configurations : list of Configuration
        All that were ever admitted, by number.
    frontier : set of int
        What the oracle proposed for the present champion.
    pending : list of int
        Members of the frontier that are not live, the most promising first.
    eliminated : set of int
        Who has left for good.
    leases : dict of int to int
        The lease that a paused configuration will get, in examples.
    """

    def __init__(self) -> None:
        self.configurations: list[Configuration] = []
        self.frontier: set[int] = set()
        self.pending: list[int] = []
        self.eliminated: set[int] = set()
        self.leases: dict[int, int] = {}
        self._numbers: dict[Configuration, int] = {}

    def admit(
        self, configuration: Configuration, parent: int | None, at: int
    ) -> Iterator[ConfigurationAdmitted]:
        """Number a configuration, unless it is known."""
        if configuration in self._numbers:
            return
        number = self._numbers[configuration] = len(self.configurations)
        self.configurations.append(configuration)
        yield ConfigurationAdmitted(
            at=at,
            configuration=number,
            parameters=configuration.parameters(),
            parent=parent,
            origin="initial" if parent is None else "oracle",
        )

    def forget_frontier(self) -> None:
        """A new champion brings its own."""
        self.frontier = set()
        self.pending = []
        self.leases = {}

    def join(
        self, proposals: Sequence[Configuration], live: set[int], champion: int, at: int
    ) -> Iterator[ConfigurationAdmitted]:
        """Add `proposals` to the frontier; those wait that are neither live nor eliminated."""
        for proposal in proposals:
            yield from self.admit(proposal, champion, at)
            number = self._numbers[proposal]
            self.frontier.add(number)
            if number not in {*live, *self.eliminated, *self.pending}:
                self.pending.append(number)

    def waiting(self) -> list[int]:
        """Choose (algorithm 3): first who never had a lease, then by the least lease."""
        return sorted(self.pending, key=lambda number: self.leases.get(number, 0))

    def pause(self, number: int, lease: int) -> None:
        """Let `number` wait for its next lease, if the champion's frontier has it."""
        self.leases[number] = lease
        if number in self.frontier:
            self.pending.append(number)
