"""Who was what, when and why: reigns and challenges as bars over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tasks.keep.changes import Happened, Lineage
from tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED

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
    """All stays in the order in which they began; those that go on stop at `end`."""
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
    """What happened to lineages, the oldest first."""
    kinds = {BORN, ROLLED_BACK, RETIRED, *ROLES}
    numbers = {str(number) for number in lineages}
    return [each for each in history if each.kind in kinds and each.subject in numbers]
