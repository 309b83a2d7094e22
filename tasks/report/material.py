"""What the report of a run is made from: results, their comparison, and the event logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import read_log
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.page import Names
from leaseboard.tasks.score.compared import Compared

Found = TypeVar("Found")
Reader: TypeAlias = Callable[[Any, Sequence[Event]], Found | None]
"""Returns what a job's log holds for a section, from its row of the results and its events."""


@dataclass(frozen=True)
class Material:
    """All that a run left."""

    folder: str
    """The name of the run's folder."""
    frame: pd.DataFrame
    """The results, a row a job."""
    suite: Suite | None
    found: Compared
    """The comparison of the results."""
    read: Mapping[Reader[Any], Sequence[tuple[Any, Any]]]
    """The rows of the jobs whose logs hold anything for a reader, each with what that is."""
    damaged: Mapping[str, str]
    """What is wrong with a job's event log, by the job's key."""
    earlier: Sequence[Result] = ()
    """Results of the folder that newer ones superseded."""

    @property
    def names(self) -> Names:
        """What the suite calls its datasets."""
        return self.suite.data_names if self.suite else {}

    def name(self, data: str) -> str:
        """Return what tables call a dataset."""
        return self.names.get(data, data)

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the board."""
        return [row.label for row in self.found.board.rows]

    def by(self, reader: Reader[Found]) -> Sequence[tuple[Any, Found]]:
        """Return what `reader` found in the logs, each with its job's row."""
        return self.read[reader]


def read_logs(
    out: Path, frame: pd.DataFrame, readers: Iterable[Reader[Any]]
) -> tuple[dict[Reader[Any], list[tuple[Any, Any]]], dict[str, str]]:
    """Show every event log to every reader once: what they found, and which logs are damaged.

    A partial log gives what it holds.
    """
    read: dict[Reader[Any], list[tuple[Any, Any]]] = {reader: [] for reader in readers}
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
        for reader, found in read.items():
            if events and (value := reader(row, events)) is not None:
                found.append((row, value))
    return read, damaged
