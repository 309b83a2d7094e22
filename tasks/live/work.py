"""Work of an update: how it is carried out, what it does on a batch, and its outcome."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from leaseboard.tasks.live.incidents import Incident
from leaseboard.tasks.live.record import Sums
from leaseboard.tasks.live.rows import Batch, BatchRows
from leaseboard.tasks.store.live_tables import Changes, StoredRow

Step = Callable[..., Any]


@dataclass(frozen=True)
class Conduct:
    """How an update is carried out: each step plainly, or as the task of a flow run.

    - `say`: prints a line; on standard error if its argument `err` is true.
    - `make`: returns a function that carries out another one as the step of a given name.
    - `flow_run`: the identifier of the flow run, if there is one.
    """

    say: Callable[..., None]
    make: Callable[[str, Step], Step] = lambda _, step: step
    flow_run: str = ""


@dataclass
class UpdateResult:
    """Outcome of an update."""

    batches: int = 0
    rejected: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    incidents: list[Incident] = field(default_factory=list)
    """Those that are open."""

    def summary(self) -> str:
        """Return the outcome in a line, with what deserves attention."""
        batches = "1 batch: " if self.batches == 1 else f"{self.batches} batches: "
        parts = [(batches if self.batches else "") + in_words(self.counts)]
        parts += [f"{self.rejected} rejected"] if self.rejected else []
        return "; ".join(parts + ([self.still_open()] if self.incidents else []))

    def still_open(self) -> str:
        """Return the incident that opened last, how many are open, and what shows them."""
        last = max(self.incidents, key=lambda each: each.since)
        more = f" (and {len(self.incidents) - 1} more)" if len(self.incidents) > 1 else ""
        return f"open incident{more}: {last.kind}: {last.what}: {last.command}"


def in_words(counts: dict[str, int]) -> str:
    """Return what a batch brought, in a few words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing new"


@dataclass
class Work:
    """Work of an update on one batch."""

    batch: Batch
    changes: Changes
    rows: BatchRows = field(default_factory=BatchRows)
    labelled: list[StoredRow] = field(default_factory=list)
    """Rows whose label has come with this batch, in the order they are learned."""
    losses: list[dict[int, Sums]] = field(default_factory=list)
    """The loss of each candidate's prediction of each of them."""
    made_champion: bool = False
    """Whether the first champion was made of this batch."""
    doubtful: dict[str, bool] = field(default_factory=dict)
    """By day that was monitored: whether its labels are unlike those of other days."""
    drift: tuple[str, ...] = ()
    """Why a challenger should be made."""
