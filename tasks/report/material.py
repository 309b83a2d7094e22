"""Material of the report of a run: results, their comparison, and the event logs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

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

Reader: TypeAlias = Callable[[Any, Sequence[Event]], Any]
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
    read: Mapping[Reader, Sequence[tuple[Any, Any]]]
    """The rows of the jobs whose logs hold anything for a reader, each with what that is."""
    damaged: Mapping[str, str]
    """Damage of event logs, by the job's key."""
    mlflow: Mapping[str, str] = field(default_factory=dict)
    """Where users see the run in MLflow: the address of its UI, and the ids of two experiments."""

    @property
    def names(self) -> Names:
        """Names of the datasets in the suite."""
        return self.suite.data_names if self.suite else {}

    @property
    def labels(self) -> list[str]:
        """The algorithms in the order of the leaderboard."""
        return list(self.found.board.frame.index)

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """Findings of all codes that the suite does not ignore."""
        logs = {str(row.key): events for row, events in self.read[signals]}
        run = DiagnosedRun(self.frame, self.names, logs)
        return find(FINDERS, run, self.suite.ignore if self.suite else ())


def read_logs(
    out: Path, frame: pd.DataFrame, readers: Iterable[Reader]
) -> tuple[dict[Reader, list[tuple[Any, Any]]], dict[str, str]]:
    """Show every event log to every reader once: what they found, and which logs are damaged.

    A partial log gives what it holds.
    """
    read, damaged = defaultdict[Reader, list[tuple[Any, Any]]](list), {}
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
        for reader in readers:
            if events and (value := reader(row, events)) is not None:
                read[reader].append((row, value))
    return read, damaged
