"""What a live model remembers from one update to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Self

from pydantic import TypeAdapter

from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep.incidents import Case
from leaseboard.tasks.keep.watch.stream_watch import StreamWatch


@dataclass(frozen=True)
class Purpose:
    """What a live model was made for, which cannot change while it has models.

    Attributes
    ----------
    target, id, time : str
        The columns of ``data:`` in FILE.yaml.
    task, algorithm : str
        What is predicted, and by what; all algorithms that learn row by row are one.
    columns : dict of str to str
        By feature: ``numbers``, ``dates`` or ``words``.
    """

    target: str
    id: str | None
    time: str | None
    task: str
    algorithm: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class DayEstimate:
    """The mean loss that a day was expected to have, in the unit that people read.

    That is the absolute error of numbers, and the Brier score of classes.

    Attributes
    ----------
    day : str
    lineage, rows : int
        Whose predictions the loss is of, and of how many rows.
    loss, low, high : float
        The estimate and its interval.
    lately : float
        The mean loss of the last settled days at that time.
    came : float, optional
        What it was; None while labels are missing.
    """

    day: str
    lineage: int
    rows: int
    loss: float
    low: float
    high: float
    lately: float
    came: float | None = None

    @property
    def held(self) -> bool:
        """Whether the interval held what came."""
        return self.came is not None and self.low <= self.came <= self.high


@dataclass(frozen=True, slots=True)
class EvidencePoint:
    """Logarithms of the evidence for challenger and champion at a moment."""

    at: str
    challenger: float
    champion: float


@dataclass
class DoubtfulDay:
    """A day whose labels are unlike those of other days: its rows wait for the next day's."""

    day: str
    rows: list[str]
    """Their identities."""


@dataclass
class LifecycleState:
    """What a live model remembers from one update to the next.

    Attributes
    ----------
    made_for : Purpose, optional
        What the last update was asked for.
    file : str, optional
        FILE.yaml, seen from the folder of the state, so that both may be moved together.
    last_update : datetime, optional
        When it began.
    clock_went_back : datetime, optional
        What a clock said that was behind the last update; it is followed if it says so again.
    newest_row : datetime, optional
        The newest time of a row that is not ahead of the clock, in UTC without an offset.
    new_categories : dict of str to list of str
        By column the last categories that came and that the contract does not name.
    held_back : dict of str to list of tuple
        By rejected batch of the last update: kind, subject and text of its incidents.
    cases : list of Case
        Incidents that are open, or were resolved lately.
    over : list of str
        Kinds of incidents that a good batch of an update that goes on shows to be over.
    monitored : StreamWatch
        What the last days were like.
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
    duels : dict of str to Duel
        By role: the sequential test of the champion against it.
    evidence : list of EvidencePoint
        Of the challenger's test, after each of the last batches.
    estimates : list of DayEstimate
        Of the last days, in their order.
    announced : int
        How many of the things that happened Prefect was told, or was not there to be told.
    """

    made_for: Purpose | None = None
    file: str | None = None
    last_update: datetime | None = None
    clock_went_back: datetime | None = None
    newest_row: datetime | None = None
    new_categories: dict[str, list[str]] = field(default_factory=dict)
    held_back: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    monitored: StreamWatch = field(default_factory=StreamWatch)
    unmonitored: dict[str, dict[str, int]] = field(default_factory=dict)
    doubtful: DoubtfulDay | None = None
    has_changed: bool = False
    left_out: list[str] = field(default_factory=list)
    challenger_since: datetime | None = None
    rows_since_challenger: int = 0
    duels: dict[str, Duel] = field(default_factory=dict)
    evidence: list[EvidencePoint] = field(default_factory=list)
    estimates: list[DayEstimate] = field(default_factory=list)
    announced: int = 0

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """What `dump` wrote, see `leaseboard.tasks.store.live_model.State.memory`."""
        found: Self = _adapter(cls).validate_python(values)
        return found

    def dump(self) -> dict[str, Any]:
        """Its fields by name, as JSON has them."""
        found: dict[str, Any] = json.loads(_adapter(type(self)).dump_json(self))
        return found


@cache
def _adapter(kind: type[LifecycleState]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
