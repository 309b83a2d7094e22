"""Arms that policies retired because their trials failed alike again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    Eliminated,
    Event,
    TrialFinished,
    of,
)
from leaseboard.algorithms.policies.policy import RETIRED
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.report.section import Cell, Material, Section, Table, data_cell, number

Retired = tuple[str, float, int, str]
"""An arm's name, when it was retired, after how many pulls, and why."""


def job_retired(row: Any, events: Sequence[Event]) -> list[Retired] | None:
    """The arms that a job retired; None if there are none."""
    if row.bench not in choosing("arm"):
        return None
    gone = [event for event in of(events, Eliminated) if event.reason.startswith(RETIRED)]
    arms = {e.configuration: e.parameters["arm"] for e in of(events, ConfigurationAdmitted)}
    pulls = [trial.arm for trial in of(events, TrialFinished)]
    found = [(arms[e.configuration], e.at, pulls.count(e.configuration), e.reason) for e in gone]
    return found or None


def section(made: Material) -> Section | None:
    """Every retired arm with its reason; None where no arm was."""
    rows = [
        [
            Cell(row.label, row.label),
            data_cell(row.data, made.names),
            Cell(arm, arm),
            Cell(reason, reason),
            Cell(str(row.repetition), row.repetition),
            number(at),
            number(pulls),
        ]
        for row, arms in made.by(job_retired)
        for arm, at, pulls, reason in arms
    ]
    if not rows:
        return None
    table = Table(
        "retired-table",
        "Arms that were retired",
        ["Algorithm", "Data", "Arm", "Why", "Repetition", "Retired at", "Trials"],
        rows,
        filters="retired arms",
        numeric_from=4,
    )
    text = (
        "An arm whose trials fail alike so many times in a row gets no further trial; what it"
        " would have got goes to the others. “Retired at” is in the budget’s unit."
    )
    return Section("retired", "Retired arms", nav="Retired arms", text=[text], tables=[table])
