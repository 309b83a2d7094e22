"""Every job, and what the jobs considered: leases and configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from leaseboard.algorithms.configurations import OUTCOMES, Configuration, configurations
from leaseboard.algorithms.events import Event
from leaseboard.tasks.report.charts import Figure, names_of, wording
from leaseboard.tasks.report.leases import figures
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, number
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link

MOST_DRAWN = 40
"""Jobs whose leases are drawn."""
MOST_LISTED, MOST_ROWS = 20, 2000
"""Configurations of a job that are listed, those that consumed most, and of all jobs."""


class JobLog(NamedTuple):
    """What the log of a job of the first repetition holds for the page."""

    figures: list[Figure]
    listed: list[dict[str, Any]]
    total: int


def jobs(made: Material) -> Section:
    """Return every job, with its score, its cost, and why it did not finish."""
    words = wording("jobs")
    if made.mlflow:
        ui, experiment = made.mlflow["ui"], made.mlflow["jobs"]
        runs = {"the leaderboards over time": NIGHTS, "the jobs": JOBS}
        links = [Markup("<a href='{}/{}'>{}</a>").format(ui, runs_link(experiment, of), what)
                 for what, of in runs.items()]  # fmt: skip
        words["text"].append(Markup("In MLflow: {}.").format(Markup(", ").join(links)))
    frame = made.frame.sort_values("status", key=lambda status: status == "ok", kind="stable")
    ok = frame["status"] == "ok"
    consumed = [f"{short(row.units, 7)} {row.unit}" for row in frame.itertuples()]
    shown = pd.DataFrame(
        {
            "Algorithm": frame["name"],
            "Data": [data_cell(data, made.names) for data in frame["data"]],
            "Seed": frame["seed"].astype(str),
            "Status": [Cell(each, "" if each == "ok" else "bad") for each in frame["status"]],
            "Score": [number(score, 6) for score in frame["score"].where(ok)],
            "CPU s": [number(value, 3) for value in frame["cpu_seconds"].where(ok)],
            "Consumed": pd.Series(consumed, frame.index).where(ok, "–"),
            "Reason": [made.damaged.get(row.key, row.reason) for row in frame.itertuples()],
            "Key": frame["key"],
        }
    )
    table = Table("jobs-table", frame=shown, **wording("jobs-table", n=f"{len(shown):,}"))
    return Section("jobs", **words, tables=[table])


def job_log(row: Any, events: Sequence[Event]) -> JobLog | None:
    """Return charts and configurations of a job of the first repetition."""
    if row.repetition > 0:
        return None
    records = configurations(events)
    return JobLog(figures(records, events), listed(records), len(records))


def listed(records: Sequence[Configuration]) -> list[dict[str, Any]]:
    """Return what became of the configurations, champion first, then by what they consumed."""
    order = sorted(
        records, key=lambda c: (OUTCOMES.index(c.outcome) > 0, -c.units, c.configuration)
    )
    names = names_of(records, 100)
    return [
        {
            "Configuration": names[each.configuration],
            "Outcome": each.outcome,
            "Origin": each.origin if each.parent is None else f"{each.origin} from {each.parent}",
            "Leases": len(each.leases),
            "Units": each.units,
            "Score": each.score,
            "Reason": each.reason[:120],
        }
        for each in order[:MOST_LISTED]
    ]


def leases(made: Material) -> Section | None:
    """Return the leases of the first repetition of jobs, and their configurations."""
    logged = made.read[job_log]
    total = sum(log.total for _, log in logged)
    if not total:
        return None
    drawn: list[Figure] = []
    for row, log in [each for each in logged if each[1].figures][:MOST_DRAWN]:
        where = f"{row.name} on {made.names.get(row.data, row.data)}"
        drawn += [replace(each, folded=f"{each.title}: {where}") for each in log.figures]
    rows = [{"Algorithm": row.name, "Data": data_cell(row.data, made.names), **each}
            for row, log in logged for each in log.listed]  # fmt: skip
    words = wording("configurations", total=f"{total:,}", most=MOST_LISTED, drawn=MOST_DRAWN)
    frame = pd.DataFrame(rows[:MOST_ROWS])
    table = Table("configurations-table", frame=frame, **wording("configurations-table"))
    return Section("configurations", **words, figures=drawn, tables=[table])
