"""Configuration selection compared with Full-run, as in the paper's Figures 3 to 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import (
    LOG,
    Figure,
    axis,
    chart,
    colour,
    scatter,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section, Table, data_cell
from leaseboard.tasks.score.selection import (
    REFERENCE,
    RULE,
    Truth,
    compare,
    standings,
)


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the log of a finished job of selection."""
    return events if row.status == "ok" and row.environment in choosing("configuration") else None


def compared(made: Material) -> pd.DataFrame:
    """Return a row for each run next to a Full-run, which is left out itself."""
    real: dict[tuple[str, int], Truth] = {}
    for row, events in made.read[selection_log]:
        if row.algorithm == REFERENCE:
            real.setdefault((row.data, row.repetition), Truth()).add(events)
    found = [
        {"key": str(row.key), "name": row.name, "data": row.data, **asdict(selection)}
        for row, events in made.read[selection_log]
        if row.algorithm != REFERENCE
        and (truth := real.get((row.data, row.repetition)))
        and (selection := compare(events, truth))
    ]
    return pd.DataFrame(found)


def ranks(made: Material) -> Section | None:
    """Return ranks by loss and seconds; None where none of one size ran with Full-run."""
    found = standings(made.frame)
    if found.empty:
        return None
    frame, words = found.reset_index(names="Algorithm"), wording("selection-ranks-table")
    table = Table("selection-ranks-table", frame=frame, **words)
    return Section("selection-ranks", **wording("selection-ranks", rule=RULE), tables=[table])


def selections(made: Material) -> Section | None:
    """Return the selections; None where none ran with Full-run."""
    runs = compared(made)
    if runs.empty:
        return None
    guaranteed = runs["kept"].dropna()
    # Only an interval that is guaranteed can break an assumption; DAUB's are projections.
    runs[["above", "below"]] = runs[["above", "below"]].where(runs["epsilon"].notna())
    counts = runs[["intervals", "above", "below"]][runs["epsilon"].notna()].sum().astype(int)
    words = wording("selection", kept=int(guaranteed.sum()), guaranteed=len(guaranteed), **counts)
    by = runs.groupby(["name", "data"], sort=False)
    shown = by.agg(
        **{
            "Runs": ("key", "size"),
            "Configurations": ("configurations", "first"),
            "Speed-up (i)": ("speedup", "median"),
            "Speed-up (ii)": ("speedup_trained", "median"),
            "Loss, worst": ("loss", "max"),
            "Guarantees broken": ("kept", lambda kept: kept.eq(False).sum()),
            "Probes": ("probes", "median"),
            "Largest sample": ("largest_rows", "max"),
            "Intervals": ("intervals", "sum"),
        }
    )
    broken = by[["above", "below"]].sum(min_count=1)
    shown["Held"] = 1 - broken.sum(axis=1, skipna=False) / shown["Intervals"]
    shown[["Exploitiveness broken", "Fitness broken"]] = broken
    shown = shown.reset_index(names=["Algorithm", "Data"])
    shown["Data"] = [data_cell(data, made.names) for data in shown["Data"]]
    table = Table("selection-table", frame=shown, **wording("selection-table"))
    return Section("selection", **words, figures=figures(made, runs), tables=[table])


def figures(made: Material, runs: pd.DataFrame) -> list[Figure]:
    """Return speed-up against relative loss, a point a run."""
    known = runs.dropna(subset=["speedup", "loss"])
    if known.empty:
        return []
    data = [
        scatter(
            str(label), of["relative_loss"], of["speedup"], colour(index), mode="markers",
            hints=(f"{made.names.get(run.data, run.data)}, {run.configurations} configurations"
                   for run in of.itertuples()),
            hovertemplate="%{hovertext}<br>loss %{x}, %{y} times faster",
            marker={"size": 9, "opacity": 0.8},
        )
        for index, (label, of) in enumerate(known.groupby("name", sort=False))
    ]  # fmt: skip
    across = axis("relative loss of accuracy", tickformat="~g")
    up = axis("times faster than Full-run", **LOG)
    return [chart("Speed-up against loss", "A point is one run.", data, across, up, 420)]
