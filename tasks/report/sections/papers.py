"""The papers' own comparisons: policies over arms, selections next to Full-run, and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell
from leaseboard.tasks.score.numbers import fixed
from leaseboard.tasks.score.papers import (
    REFERENCE,
    RULE,
    Truth,
    compare,
    printed_decimals,
    published_against_measured,
    standings,
    with_metrics,
)
from leaseboard.tasks.score.summary import scale_of

PREFIX = "exploitation."
"""Prefix of the metrics with an arm's share of the pulls."""


def policies(made: Material) -> Section | None:
    """Return the shares of the arms; None where no arm was pulled."""
    shares = shares_of(made.frame)
    if shares.empty:
        return None
    frame, words = shares.reset_index(names="Algorithm"), wording("exploitation-table")
    table = Table("exploitation-table", frame=frame, **words)
    return Section("policies", **wording("policies"), tables=[table])


def shares_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in percent of every algorithm's arms, means over its finished runs."""
    done = frame[frame["environment"].isin(choosing("arm")) & (frame["status"] == "ok")]
    shares = pd.DataFrame(done["metrics"].tolist(), done["name"]).filter(like=PREFIX)
    means = 100 * shares.groupby(level=0, sort=False).mean()
    means = means[means.mean().sort_values(ascending=False, kind="stable").index]
    return means.rename(columns=lambda name: name.removeprefix(PREFIX))


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the log of a finished job of selection."""
    return events if row.status == "ok" and row.environment in choosing("configuration") else None


def compared(made: Material) -> pd.DataFrame:
    """Return a row for each selection next to a Full-run, which is left out itself."""
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
    """Return speed-up, loss and calibration of selections; None where none ran with Full-run."""
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
            "Intervals": ("intervals", "sum"),
        }
    )
    shown[["Exploitiveness broken", "Fitness broken"]] = by[["above", "below"]].sum(min_count=1)
    shown = shown.reset_index(names=["Algorithm", "Data"])
    shown["Data"] = [data_cell(data, made.names) for data in shown["Data"]]
    table = Table("selection-table", frame=shown, **wording("selection-table"))
    return Section("selection", **words, tables=[table])


def published(made: Material) -> Section | None:
    """Return every claim of the suite with its measurement; None without claims."""
    if made.suite is None or not made.suite.published:
        return None
    scale = scale_of(made.suite, made.found.board.scale.metric)
    frame = with_metrics(made.frame, compared(made))
    found = published_against_measured(frame, made.suite.published, scale)
    rows = [_claim(made, each) for each in found.sort_values("n", ascending=False).itertuples()]
    table = Table("published-table", frame=pd.DataFrame(rows), **wording("published-table"))
    judged = found["agrees"].dropna()
    counts = {"judged": len(judged), "measured": (found["n"] > 0).sum(), "all": len(found)}
    words = wording("published", agreeing=int(judged.sum()), **counts)
    return Section("published", **words, tables=[table])


def _claim(made: Material, row: Any) -> dict[str, object]:
    verdicts = {True: Cell("agrees", "good"), False: Cell("differs", "bad"), None: Cell("–")}
    digits = printed_decimals(row.value, row.sd)

    def spread(value: float, sd: float, decimals: int) -> str:
        return fixed(value, decimals) + ("" if pd.isna(sd) else f" ± {fixed(sd, decimals)}")

    return {
        "Source": row.source,
        "Algorithm": row.algorithm,
        "Data": data_cell(row.data, made.names),
        "Metric": row.metric,
        "Published": spread(row.value, row.sd, digits),
        "Measured": spread(row.measured, row.measured_sd, digits + 1),
        "Verdict": verdicts[row.agrees] if row.n else "not measured",
        "Tolerance": row.tolerance,
        "n": row.n,
    }
