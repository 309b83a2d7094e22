"""An update of a live model while it goes on: what its steps share, and what they find."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from leaseboard.tasks.keep.conform import AHEAD
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.incidents import Incident
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.losses import Sums
from leaseboard.tasks.keep.notification import record
from leaseboard.tasks.keep.rows import Batch, SortedRows
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, KeptRow


@dataclass
class Work:
    """What is done for one batch."""

    batch: Batch
    changes: Changes
    taken: SortedRows = field(default_factory=SortedRows)
    settled: list[KeptRow] = field(default_factory=list)
    """Rows whose label has come with this batch, in the order they are learned."""
    losses: list[dict[int, Sums]] = field(default_factory=list)
    """What each lineage's forecast of each of them cost."""
    has_begun: bool = False
    """Whether the first champion was made of this batch."""
    doubtful: dict[str, bool] = field(default_factory=dict)
    """By day that the monitor has judged: whether its labels are unlike those of other days."""
    drift: tuple[str, ...] = ()
    """Why a challenger should be made."""


@dataclass
class ModelUpdate:
    """An update of a live model while it goes on."""

    keep: Keep
    contract: Contract
    state: State
    shadow: Shadow
    now: datetime
    lifecycle: LifecycleState
    file: Path | None = None
    """FILE.yaml, as it was named; None if that is not known."""
    found: list[Incident] = field(default_factory=list)
    """What is wrong, so far in this update."""
    recorded: int = 0
    """How many of these are in the state, or in changes that are about to be written."""
    page: str = ""
    """The address of the page, for messages."""
    held: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """Kind, subject and text of why batches were held back in this update, by their names."""

    @property
    def moment(self) -> datetime:
        """Now, in whole seconds, as the state has it."""
        return self.now.replace(microsecond=0)

    @property
    def at(self) -> str:
        """The moment as text."""
        return self.moment.isoformat()

    @property
    def last_day(self) -> str:
        """Days after this one are far ahead: their rows wait, and are not monitored or shown."""
        return (self.now + AHEAD).date().isoformat()

    def incident(self, kind: str, subject: str, what: str, command: str = "") -> None:
        """Something is wrong, as of now."""
        shown = command or command_of(self.keep, self.file)
        self.found.append(Incident(kind, subject, " ".join(what.split()), self.now, shown))

    def has_found(self, kind: str) -> bool:
        """Whether an incident was found since the last update, also by one that was killed."""
        last = self.lifecycle.last_update
        return any(each.kind == kind for each in self.found) or any(
            each.incident.kind == kind
            and (last is None or each.seen.replace(microsecond=0) > last)
            for each in self.lifecycle.cases
        )

    def record(self, changes: Changes, *, ends: bool = False) -> None:
        """Put what was found since the last time, and the messages about it, among `changes`.

        What a batch makes true is so written in one transaction with the alert about it: an update
        that is killed after it has nothing to find again.

        - `ends`: the update does, so that incidents which it did not find may be over.
        """
        new, self.recorded = self.found[self.recorded :], len(self.found)
        still = {each.key for each in self.found} if ends else None
        record(changes, self.lifecycle, new, still, self.keep, self.now, self.page)
        changes.memory = self.lifecycle.dump()


def command_of(keep: Keep, file: Path | None) -> str:
    """What shows how a live model stands."""
    return f"leaseboard keep {shlex.quote(str(file or f'{keep.name}.yaml'))} --status"
