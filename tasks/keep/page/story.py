"""All that page and terminal tell of a keep, read from its state once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from leaseboard.tasks.keep.conform import AHEAD
from leaseboard.tasks.keep.incidents import Case
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.page.days import Calendar, Day
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, REFERENCE, RETIRED
from leaseboard.tasks.report.page import Cell
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Happened, Lineage

ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that a lineage has in turn."""

BORN, ROLLED_BACK = "born", "rolled back"
"""What happens to a lineage beside its becoming one of `ROLES`, or retired."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A lineage in a role, for a reason, and why it left."""

    lineage: int
    role: str
    start: str
    stop: str
    why: str
    left: str = ""

    @property
    def milliseconds(self) -> float:
        """How long."""
        length = datetime.fromisoformat(self.stop) - datetime.fromisoformat(self.start)
        return 1000 * length.total_seconds()


def stays(history: Sequence[Happened], lineages: Mapping[int, Lineage], end: str) -> list[Stay]:
    """Return all stays in the order in which they began; those that go on stop at `end`."""
    found: list[Stay] = []
    now: dict[int, int] = {}
    for each in moves(history, lineages):
        number = int(each.subject)
        if number in now:
            place = now.pop(number)
            found[place] = replace(found[place], stop=each.at, left=each.what)
        role = each.kind
        if role == BORN:
            reigns = any(found[place].role == CHAMPION for place in now.values())
            role = CHALLENGER if reigns else CHAMPION
        if role in ROLES:
            now[number] = len(found)
            found.append(Stay(number, role, each.at, max(end, each.at), each.what))
    return found


def moves(history: Sequence[Happened], lineages: Mapping[int, Lineage]) -> list[Happened]:
    """Return what happened to lineages, the oldest first."""
    kinds = {BORN, ROLLED_BACK, RETIRED, *ROLES}
    numbers = {str(number) for number in lineages}
    return [each for each in history if each.kind in kinds and each.subject in numbers]


@dataclass(frozen=True)
class Story:
    """A keep at a moment."""

    keep: Keep
    now: datetime
    lineages: Mapping[int, Lineage]
    days: Calendar
    lifecycle: LifecycleState
    batches: Sequence[Mapping[str, Any]]
    """The oldest first."""
    asides: Sequence[Mapping[str, Any]]
    """The newest first, the last thousand."""
    history: Sequence[Happened]
    waiting: Mapping[str, int]
    """Rows whose label has not come, by day."""
    turn: Mapping[str, Any] | None
    """The last one."""
    holds: Mapping[str, int]
    size: int

    @property
    def champion(self) -> Lineage | None:
        """Who answers."""
        return self.in_role(CHAMPION)

    @property
    def references(self) -> list[Lineage]:
        """What a person tries first."""
        return [each for each in self.lineages.values() if each.role == REFERENCE]

    def in_role(self, role: str) -> Lineage | None:
        """Return the lineage in a role of which there is one."""
        return next((each for each in self.lineages.values() if each.role == role), None)

    @cached_property
    def stays(self) -> list[Stay]:
        """Who was what, and when."""
        return stays(self.history, self.lineages, self.now.isoformat(timespec="seconds"))

    @cached_property
    def open(self) -> list[Case]:
        """Incidents that are not resolved, the oldest first."""
        cases = [case for case in self.lifecycle.cases if case.is_open]
        return sorted(cases, key=lambda case: case.incident.since)


def read_story(state: State, keep: Keep, now: datetime) -> Story:
    """Return what `state` holds; of days that are far ahead only how many rows wait."""
    last = (now + AHEAD).date().isoformat()
    return Story(
        keep=keep,
        now=now,
        lineages={each.number: each for each in state.lineages()},
        days=Calendar([Day(**each) for each in state.days() if each["day"] <= last]),
        lifecycle=LifecycleState.read(state.memory()),
        batches=state.batches(),
        asides=state.asides(),
        history=state.history(),
        waiting=state.waiting(),
        turn=state.last_turn(),
        holds=state.holds(),
        size=state.size(),
    )


def moment(at: str) -> Cell:
    """Return a time to the minute, sorted by all of it."""
    return Cell(at[:16].replace("T", " "), at)


def called(lineage: Lineage) -> str:
    """Return what a reader knows a lineage by.

    Examples
    --------
    >>> called(Lineage(3, "champion", "chacha", None, 9, "2026-01-01", "the first"))
    'chacha 3'
    """
    return lineage.name if lineage.role == REFERENCE else f"{lineage.name} {lineage.number}"
