"""The lifecycle state of a live model: what it remembers from one update to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from pydantic import TypeAdapter

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.drift.monitor import StreamMonitor
from leaseboard.tasks.live.incidents import Case


@dataclass
class DoubtfulDay:
    """Day whose labels are unlike those of other days: its rows wait for the next day's."""

    day: str
    rows: list[str]
    """Their identities."""


@dataclass
class LifecycleState:
    """State of a live model that lasts from one update to the next.

    Attributes
    ----------
    made_for : dict of str to str
        By keys of FILE.yaml what the live model is for, which cannot change while it has
        candidates; all algorithms that learn row by row are one.
    kinds : dict of str to str
        The kinds of the features that candidates have learned; of an undecided column none.
    file : str, optional
        The path of FILE.yaml.
    newest_row : datetime, optional
        The newest time of a row that is not ahead of the clock, in UTC without an offset.
    cases : list of Case
        Incidents that are open, or were resolved lately.
    monitored : StreamMonitor
        Statistics of the last days.
    doubtful : DoubtfulDay, optional
        Rows that wait to be learned.
    has_changed : bool
        Whether the last days were doubtful and learned, as of a world that changed.
    left_out : list of str
        Identities of rows that are never learned, as far as a training window may reach.
    challenger_since : datetime, optional
        When the last challenger was made.
    rows_since_challenger : int
        Labels that have come since.
    tests : dict of str to SequentialTest
        By role: the sequential test of the champion against it.
    announced : int
        How many entries of the history were reported to Prefect, or came without Prefect.
    by_hand : tuple, optional
        Change of the champion by a command that has not ended: the kind of its entry in the
        history, the new champion, and what the command says of it.
    """

    made_for: dict[str, str | None] = field(default_factory=dict)
    kinds: dict[str, ValueKind] = field(default_factory=dict)
    file: str | None = None
    newest_row: datetime | None = None
    cases: list[Case] = field(default_factory=list)
    monitored: StreamMonitor = field(default_factory=StreamMonitor)
    doubtful: DoubtfulDay | None = None
    has_changed: bool = False
    left_out: list[str] = field(default_factory=list)
    challenger_since: datetime | None = None
    rows_since_challenger: int = 0
    tests: dict[str, SequentialTest] = field(default_factory=dict)
    announced: int = 0
    by_hand: tuple[str, int, str] | None = None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dump` wrote, see `leaseboard.tasks.store.live_model.State.lifecycle`."""
        found: Self = _ADAPTER.validate_python(values)
        return found

    def dump(self) -> dict[str, Any]:
        """Return the fields by name, as JSON has them."""
        return _ADAPTER.dump_python(self, mode="json")


_ADAPTER: TypeAdapter[Any] = TypeAdapter(LifecycleState)
