"""A keep while a turn goes on: all that its steps share, and what they find."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from leaseboard.tasks.keep.changes import Changes, Happened
from leaseboard.tasks.keep.conform import AHEAD
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.incidents import Case, Incident, reconcile
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keep.tell import letters

OVER = "over"
"""In the memory until the turn ends: kinds of incidents that a good batch shows to be over."""


@dataclass
class Keeping:
    """A keep while a turn goes on."""

    keep: Keep
    contract: Contract
    state: State
    shadow: Shadow
    now: datetime
    memory: dict[str, Any]
    file: Path | None = None
    """FILE.yaml, as it was named; None if that is not known."""
    found: list[Incident] = field(default_factory=list)
    """What is wrong, so far in this turn."""
    recorded: int = 0
    """How many of these are in the state, or in changes that are about to be written."""
    page: str = ""
    """The address of the page, for messages."""
    held: dict[str, list[list[str]]] = field(default_factory=dict)
    """Kind, subject and text of why batches were held back in this turn, by their names."""

    @property
    def at(self) -> str:
        """Now, as the state has it."""
        return self.now.isoformat(timespec="seconds")

    @property
    def last_day(self) -> str:
        """Days after this one are far ahead: their rows wait, and are not watched or shown."""
        return (self.now + AHEAD).date().isoformat()

    def incident(self, kind: str, subject: str, what: str, command: str = "") -> None:
        """Something is wrong, as of now."""
        shown = command or command_of(self.keep, self.file)
        self.found.append(Incident(kind, subject, " ".join(what.split()), self.now, shown))

    def is_over(self, kind: str) -> None:
        """Have incidents of a kind be over at the end of the turn, if it finds them no more."""
        self.memory[OVER] = sorted({*self.memory.get(OVER, ()), kind})

    def record(self, changes: Changes, *, ends: bool = False) -> None:
        """Put what was found since the last time, and the messages about it, among `changes`.

        What a batch makes true is so written in one transaction with the alert about it: a turn
        that is killed after it has nothing to find again.

        - `ends`: the turn does, so that incidents which it did not find may be over.
        """
        new, self.recorded = self.found[self.recorded :], len(self.found)
        still = {each.key for each in self.found} if ends else None
        record(changes, self.memory, new, still, self.keep, self.now, self.page)
        changes.memory = dict(self.memory)


def command_of(keep: Keep, file: Path | None) -> str:
    """What shows how a keep stands."""
    return f"leaseboard keep {shlex.quote(str(file or f'{keep.name}.yaml'))} --status"


def record(
    changes: Changes,
    memory: dict[str, Any],
    found: Sequence[Incident],
    still: Collection[tuple[str, str]] | None,
    keep: Keep,
    now: datetime,
    page: str,
) -> None:
    """Put incidents, and the messages about them, into `changes` and the `memory` of a keep.

    - `still`: see `leaseboard.tasks.keep.incidents.reconcile`; None: no incident is over.
    """
    cases, over = [Case.from_dict(each) for each in memory.get("cases", [])], []
    if still is None:
        still = {each.incident.key for each in cases}
    else:
        over, memory[OVER] = memory.get(OVER, []), []
    after = reconcile(cases, found, now, still, over)
    memory["cases"] = [each.to_dict() for each in after.cases]
    changes.happened += [
        Happened(changes.at, each.status, each.incident.subject, each.incident.what)
        for each in after.messages
    ]
    changes.letters += letters(after.messages, addresses_of(keep), keep=keep.name, page=page)


def addresses_of(keep: Keep) -> list[str]:
    """Return the addresses that get the messages of a keep."""
    return [*([keep.alerts.webhook] if keep.alerts.webhook else []), *keep.alerts.to]
