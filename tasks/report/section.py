"""What a page has: a section says its name, its text, its figures and its tables.

Its `Material` are results, their comparison, and the event logs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import read_log
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.draw.specs import Figure
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.score.summary import fixed, short

Names = Mapping[str, str]
"""What a suite calls its data sets, by reference."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: what is read, what it is sorted by, and a class for emphasis."""

    text: str
    value: float | str = ""
    kind: str = ""
    hint: str = ""


def number(value: float, digits: int = 4, kind: str = "", hint: str = "") -> Cell:
    """A number as a cell; NaN sorts last."""
    return Cell(short(value, digits), value if math.isfinite(value) else "", kind, hint)


def named(data: str, names: Names) -> str:
    """What tables call a data set: the suite's name for it, or the reference."""
    return names.get(data, data)


def data_cell(data: str, names: Names) -> Cell:
    """A data set's name; its reference is the hint."""
    name = named(data, names)
    return Cell(name, name, hint="" if name == data else data)


def finite(value: float) -> float | str:
    """A number to sort by; nothing, which sorts last, for NaN."""
    return value if math.isfinite(value) else ""


def spread(value: float, sd: float | None, decimals: int) -> str:
    """A mean with its standard deviation, if there is one."""
    if sd is None or not math.isfinite(sd):
        return fixed(value, decimals)
    return f"{fixed(value, decimals)} ± {fixed(sd, decimals)}"


@dataclass(frozen=True)
class Table:
    """A table that a reader can sort, under a heading of its own if it has a `title`."""

    id: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    _: KW_ONLY
    title: str = ""
    text: str = ""
    note: str = ""
    filters: str = ""
    """What a field above the table filters, if there are more than `few` rows; none if empty."""
    few: int = 8
    numeric_from: int = 1
    """The first of the columns that hold numbers."""
    key_column: int = 0
    """The column that names the row."""
    foot: Sequence[Cell] | None = None
    """A last row that is never sorted, called `foot_name`."""
    foot_name: str = ""
    tall: bool = False
    """It scrolls by itself rather than make the page long."""
    folded: str = ""
    """What a reader presses to see the table; it is open if empty."""


@dataclass(frozen=True)
class Section:
    """A section of the page: `text`, a paragraph each, then the figures, then the tables.

    One that looks otherwise inherits, and names a `template` that shows it.
    """

    template: ClassVar[str] = "section.html"

    id: str
    title: str
    _: KW_ONLY
    nav: str = ""
    """What the links on top call it; no link if empty."""
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()

    def data(self) -> Mapping[str, Any]:
        """What the page unpacks when it is looked at, by the id of its block."""
        return {f"{self.id}-{i}": figure.payload() for i, figure in enumerate(self.figures)}


Told = TypeVar("Told")
Reader: TypeAlias = Callable[[Any, Sequence[Event]], Told | None]
"""Says what a job's log holds for a section, from its row of the results and its events."""


@dataclass(frozen=True)
class Material:
    """All that a run says."""

    folder: str
    """The name of the run's folder."""
    frame: pd.DataFrame
    """The results, a row a job."""
    suite: Suite | None
    found: Compared
    """The comparison of the results."""
    told: Mapping[Reader[Any], Sequence[tuple[Any, Any]]]
    """The rows of the jobs whose logs hold anything for a reader, each with what that is."""
    damaged: Mapping[str, str]
    """What is wrong with a job's event log, by the job's key."""
    earlier: Sequence[Result] = ()
    """Results of the folder that newer ones superseded."""

    @property
    def names(self) -> Names:
        """What the suite calls its data sets."""
        return self.suite.data_names if self.suite else {}

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the board."""
        return [row.label for row in self.found.board.rows]

    def by(self, reader: Reader[Told]) -> Sequence[tuple[Any, Told]]:
        """What `reader` found in the logs, each with its job's row; it must be in `READERS`."""
        return self.told[reader]


def read_logs(
    out: Path, frame: pd.DataFrame, readers: Iterable[Reader[Any]]
) -> tuple[dict[Reader[Any], list[tuple[Any, Any]]], dict[str, str]]:
    """Show every event log to every reader once: what they found, and which logs are damaged.

    A partial log gives what it holds.
    """
    told: dict[Reader[Any], list[tuple[Any, Any]]] = {reader: [] for reader in readers}
    damaged = {}
    for row in frame.itertuples():
        path = out / "jobs" / str(row.key) / EVENTS
        if not (isinstance(row.events, str) and path.is_file()):  # none, or not as its seal says
            continue
        events = []
        try:
            for event in read_log(path):
                events.append(event)  # noqa: PERF402  (what came before the damage is kept)
        except (OSError, EOFError, ValueError) as error:
            damaged[str(row.key)] = f"the event log is damaged: {error}"
        for reader, found in told.items():
            if events and (value := reader(row, events)) is not None:
                found.append((row, value))
    return told, damaged
