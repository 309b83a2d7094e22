"""Every job, and the leases of what the jobs considered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from leaseboard.algorithms.configurations import configurations
from leaseboard.algorithms.events import Event
from leaseboard.tasks.report.charts import Figure, wording
from leaseboard.tasks.report.leases import figures
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, number
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link

MOST_DRAWN = 40
"""Jobs whose leases are drawn."""


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


def job_figures(row: Any, events: Sequence[Event]) -> list[Figure] | None:
    """Return the charts of a job of the first repetition, each below what it is of."""
    return None if row.repetition > 0 else figures(configurations(events), events) or None


def leases(made: Material) -> Section | None:
    """Return the leases, bounds and pulls of the first repetition of jobs."""
    logged = made.read[job_figures]
    drawn = [
        replace(each, folded=f"{each.title}: {row.name} on {made.names.get(row.data, row.data)}")
        for row, found in logged[:MOST_DRAWN]
        for each in found
    ]
    words = wording("configurations", drawn=MOST_DRAWN)
    return Section("configurations", **words, figures=drawn) if drawn else None
