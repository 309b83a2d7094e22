"""Material of the report of a run: results, their comparison, and the event logs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import read_log
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic, find
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.report.page import Names
from leaseboard.tasks.score.diagnostics import FINDERS, DiagnosedRun, signals
from leaseboard.tasks.score.summary import Compared

Found = TypeVar("Found")
Reader: TypeAlias = Callable[[Any, Sequence[Event]], Found | None]
"""Returns what a job's log holds for a section, from its row of the results and its events."""


@dataclass(frozen=True)
class Material:
    """Everything that a run's report is made from."""

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
    """Damage of event logs, by the job's key."""
    mlflow: Mapping[str, str] = field(default_factory=dict)
    """Where users see the run in MLflow: the address of its UI, and the ids of two experiments."""

    @property
    def names(self) -> Names:
        """Names of the datasets in the suite."""
        return self.suite.data_names if self.suite else {}

    def name(self, data: str) -> str:
        """Return the name of a dataset in tables."""
        return self.names.get(data, data)

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the leaderboard."""
        return [row.name for row in self.found.board.rows]

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """Findings of all codes that the suite does not ignore."""
        logs = {str(row.key): events for row, events in self.by(signals)}
        run = DiagnosedRun(self.frame, self.names, logs)
        return find(FINDERS, run, self.suite.ignore if self.suite else ())

    def by(self, reader: Reader[Found]) -> Sequence[tuple[Any, Found]]:
        """Return the values that `reader` found in the logs, each with its job's row."""
        return self.read[reader]


def read_logs(
    out: Path, frame: pd.DataFrame, readers: Iterable[Reader[Any]]
) -> tuple[dict[Reader[Any], list[tuple[Any, Any]]], dict[str, str]]:
    """Show every event log to every reader once: what they found, and which logs are damaged.

    A partial log gives what it holds.
    """
    read: dict[Reader[Any], list[tuple[Any, Any]]] = {reader: [] for reader in readers}
    damaged = {}
    for row in counted(frame.itertuples(), "reading event logs", "jobs", len(frame)):
        path = out / "jobs" / str(row.key) / EVENTS
        if not (isinstance(row.events, str) and path.is_file()):  # none, or a damaged one
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
