"""Every job: its row in a table, and a page of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from leaseboard.algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
from leaseboard.algorithms.configurations import phrase
from leaseboard.algorithms.errors import short as cut
from leaseboard.algorithms.events import Event
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.report.job.page import job_payload
from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Names,
    Section,
    data_cell,
    named,
    number,
)
from leaseboard.tasks.report.sections.repeat import command_of, commands_of
from leaseboard.tasks.report.sections.selections import pictures
from leaseboard.tasks.score.summary import short

MOST_CHARACTERS = 600
"""Of what is said about a champion, or settings."""

_BETTER = {"min": "less", "max": "more"}


def log_page(row: Any, events: Sequence[Event]) -> dict[str, Any]:
    """What a log says on its job's page."""
    return job_payload(events)


@dataclass(frozen=True, kw_only=True)
class Jobs(Section):
    """A table that links to the page of each job."""

    template: ClassVar[str] = "sections/every_job.html"

    rows: Sequence[Mapping[str, Any]]
    pages: Mapping[str, Mapping[str, Any]]

    def data(self) -> Mapping[str, Any]:
        """The page of each job."""
        return {f"payload-{key}": page for key, page in self.pages.items()}


def section(made: Material) -> Section:
    """Every job, and its page: facts, command, and what its log tells."""
    commands, drawn = commands_of(made.suite), pictures(made)
    told = {row.key: payload for row, payload in made.by(log_page)}
    pages = {}
    for row in made.frame.itertuples():
        pages[row.key] = {
            "title": f"{row.label} on {named(row.data, made.names)}, repetition {row.repetition}",
            "facts": _facts(row, made.damaged.get(row.key, "")),
            "command": command_of(row, commands),
            **told.get(row.key, {}),
        }
        if row.key in drawn:
            pages[row.key]["figures"] += drawn[row.key]
    rows = [_row(row, made.names) for row in made.frame.itertuples()]
    return Jobs("jobs", "Jobs", nav="Jobs", rows=rows, pages=pages)


def _row(row: Any, names: Names) -> dict[str, Any]:
    ok = row.status == "ok"
    units = number(row.units if ok else math.nan, 6)
    if ok and not row.complete:
        units = Cell(consumed(row), row.units, "bad")
    return {
        "key": row.key,
        "label": row.label,
        "data": data_cell(row.data, names),
        "seed": row.seed,
        "status": row.status,
        "score": number(row.score, 6),
        "cpu": number(row.cpu_seconds if ok else math.nan, 3),
        "units": units,
    }


def _facts(row: Any, trouble: str) -> list[tuple[str, str]]:
    score = "–"
    if row.status == "ok":
        score = f"{short(row.score, 6)} {row.metric} ({_BETTER[row.direction]} is better)"
    facts = [
        ("Data", row.data),
        ("Status", f"{row.status}: {row.reason}" if row.reason else row.status),
        ("Score", score),
        *([("Warning", SAYS_NOTHING)] if ONE_CLASS in row.metrics else []),
        *((name, short(float(value), 6)) for name, value in row.metrics.items() if _real(value)),
        ("Champion", cut(phrase(row.champion), MOST_CHARACTERS)),
        ("Budget consumed", consumed(row) if row.unit else "–"),
        ("CPU seconds", short(row.cpu_seconds, 4)),
        ("Wall seconds", short(row.wall_seconds, 4)),
        ("Set-up seconds", short(row.setup_seconds, 4)),
        ("Seed", f"{row.seed} (environment {row.environment_seed})"),
        ("Settings", _mapping({k: v for k, v in row.settings.items() if v not in (None, "")})),
        ("Code version", row.version),
        ("Data digest", row.digest),
        ("Started", f"{row.started} on {row.host}" if row.started else ""),
        ("Key", row.key),
        ("Event log", f"jobs/{row.key}/{EVENTS}"),
        ("Trouble", trouble),
    ]
    return [(name, text) for name, text in facts if text]


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _mapping(value: Mapping[str, Any]) -> str:
    return cut(", ".join(f"{key}={item}" for key, item in value.items()), MOST_CHARACTERS)


def consumed(row: Any) -> str:
    """The units that a job consumed, and of how many if it should have consumed all."""
    if row.complete or not math.isfinite(row.budget):
        return f"{short(row.units, 7)} {row.unit}"
    return f"{short(row.units, 7)} of {short(row.budget, 7)} {row.unit}: ended early"
