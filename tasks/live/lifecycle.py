"""The lifecycle state of a live model: what it remembers from one update to the next."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Self

from pydantic import TypeAdapter

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.drift.monitor import StreamMonitor
from leaseboard.tasks.live.incidents import Case


@dataclass(frozen=True)
class Purpose:
    """Purpose of a live model, which cannot change while it has candidates.

    Attributes
    ----------
    target, id, time : str
        The columns of ``data:`` in FILE.yaml.
    task, algorithm : str
        What is predicted, and by what; all algorithms that learn row by row are one.
    columns : dict of str to str
        The kinds of features; a column that is undecided is not among them.
    """

    target: str
    id: str | None
    time: str | None
    task: str
    algorithm: str
    columns: dict[str, ValueKind]


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
    made_for : Purpose, optional
        What the last update was asked for.
    file : str, optional
        The path of FILE.yaml.
    last_update : datetime, optional
        When it began.
    newest_row : datetime, optional
        The newest time of a row that is not ahead of the clock, in UTC without an offset.
    files_read : tuple, optional
        The source, and when the last update began to read it, in seconds since 1970.
    new_categories : dict of str to list of str
        By column the last categories that came and that the contract does not name.
    rejected_batches : dict of str to list of tuple
        By rejected batch of the last update: kind, subject and text of its incidents.
    cases : list of Case
        Incidents that are open, or were resolved lately.
    over : list of str
        Kinds of incidents that a good batch of an update that goes on shows to be over.
    monitored : StreamMonitor
        Statistics of the last days.
    unmonitored : dict of str to dict
        Of its ``inputs`` and ``outcomes``, by day: the rows since it looked at the day last.
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

    made_for: Purpose | None = None
    file: str | None = None
    last_update: datetime | None = None
    newest_row: datetime | None = None
    files_read: tuple[str, float] | None = None
    new_categories: dict[str, list[str]] = field(default_factory=dict)
    rejected_batches: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    monitored: StreamMonitor = field(default_factory=StreamMonitor)
    unmonitored: dict[str, dict[str, int]] = field(default_factory=dict)
    doubtful: DoubtfulDay | None = None
    has_changed: bool = False
    left_out: list[str] = field(default_factory=list)
    challenger_since: datetime | None = None
    rows_since_challenger: int = 0
    tests: dict[str, SequentialTest] = field(default_factory=dict)
    announced: int = 0
    by_hand: tuple[str, int, str] | None = None

    @property
    def kinds(self) -> Mapping[str, ValueKind]:
        """The kinds of the features that candidates have learned."""
        return {} if self.made_for is None else self.made_for.columns

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dump` wrote, see `leaseboard.tasks.store.live_model.State.lifecycle`."""
        found: Self = _adapter(cls).validate_python(values)
        return found

    def dump(self) -> dict[str, Any]:
        """Return the fields by name, as JSON has them."""
        found: dict[str, Any] = json.loads(_adapter(type(self)).dump_json(self))
        return found


@cache
def _adapter(kind: type[LifecycleState]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
