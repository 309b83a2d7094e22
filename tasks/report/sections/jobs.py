"""Every job, and the leases of what the jobs considered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from leaseboard.algorithms.configurations import Configuration, configurations, phrase
from leaseboard.algorithms.events import ChampionChanged, Event, Started, of
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import (
    INK,
    Figure,
    chart,
    colour,
    named_rows,
    plain,
    scatter,
    text,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, number
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link

MOST_DRAWN, MOST_ROWS, MOST_LEASES = 40, 24, 400
"""Jobs whose leases are drawn; rows and leases of one."""
LABEL = 80
STAR = {"symbol": "star", "size": 13, "line": {"color": "white", "width": 1.5}}
"""The marker of a change of champion."""


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


def job_leases(row: Any, events: Sequence[Event]) -> Figure | None:
    """Return the leases of every slot over time in a job of the first repetition.

    Where leases have no slots, a row is a configuration. Pulls of arms are leases of one trial
    each, which the shares of the arms show.
    """
    started, records = of(events, Started), configurations(events)
    leases = [(record.configuration if lease.slot is None else lease.slot, lease, record)
              for record in records for lease in record.leases]  # fmt: skip
    if row.repetition > 0 or row.environment in choosing("arm") or len(leases) < 2:
        return None
    rows = sorted(row for row, _ in Counter(row for row, *_ in leases).most_common(MOST_ROWS))
    drawn = [each for each in leases if each[0] in rows]
    longest = sorted(drawn, key=lambda each: each[1].at - each[1].end)[:MOST_LEASES]
    unit = started[0].unit if started else "units"
    bars = {
        "type": "bar", "orientation": "h", "width": 0.78, "showlegend": False,
        "base": plain(lease.at for _, lease, _ in longest),
        "x": plain(lease.end - lease.at for _, lease, _ in longest),
        "y": [rows.index(row) for row, _, _ in longest],
        "marker": {"color": [colour(each.configuration) for *_, each in longest]},
        "hovertext": [text(_name(each)) for *_, each in longest],
        "hovertemplate": f"%{{hovertext}}<br>%{{base}} + %{{x}} {text(unit)}<extra></extra>",
    }  # fmt: skip
    slots = {record.configuration: rows.index(row) for row, _, record in drawn}
    changes = [each for each in of(events, ChampionChanged)[1:] if each.configuration in slots]
    stars = scatter("", (each.at for each in changes),
                    (slots[each.configuration] for each in changes), INK,
                    mode="markers", marker=STAR)  # fmt: skip
    note = "A bar is one lease; its colour is the configuration. A star is a change of champion."
    if len(longest) < len(leases):
        note += f" The {len(longest)} longest of {len(leases)} leases."
    height = max(220, 110 + 22 * len(rows))
    return chart("Leases", note, [bars, stars], unit, named_rows(rows), height, barmode="overlay")


def _name(record: Configuration) -> str:
    """Return the number and the hyperparameters of a configuration, short enough to be read."""
    words = phrase(record.parameters)
    return f"{record.configuration}: {words if len(words) <= LABEL else words[:LABEL] + '…'}"


def leases(made: Material) -> Section | None:
    """Return the leases of the first repetition of jobs."""
    drawn = [
        replace(figure, folded=f"Leases: {row.name} on {made.names.get(row.data, row.data)}")
        for row, figure in made.read[job_leases][:MOST_DRAWN]
    ]
    words = wording("configurations", drawn=MOST_DRAWN)
    return Section("configurations", **words, figures=drawn) if drawn else None
