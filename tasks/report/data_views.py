"""The tables that have a row for each data set and a column for each algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from tasks.report.cells import Cell, Names, data_cell, finite, number, spread
from tasks.score.leaderboard import Board
from tasks.score.normalise import relative_losses
from tasks.score.summary import short
from tasks.score.table import EARLY, FAILED, NOT_RUN, SKIPPED, Floats, nanmean, score_table


def scores(found: Board, names: Names) -> dict[str, Any]:
    """Mean and standard deviation of every algorithm on every data set."""
    order = [found.table.labels.index(row.label) for row in found.rows]
    ranks = found.table.ranks()
    means, sds = found.table.means, found.table.sds
    rows = []
    for p, data in enumerate(found.table.problems):
        cells = [data_cell(data, names)]
        for i in order:
            lost = _lost(found, i, p)
            text = short(means[i, p]) if math.isfinite(means[i, p]) else lost or "–"
            if math.isfinite(sds[i, p]):
                text += f" ± {short(sds[i, p], 2)}"
            if lost and math.isfinite(means[i, p]):
                text += f" ({lost})"
            best = math.isfinite(ranks[i, p]) and ranks[i, p] == np.nanmin(ranks[:, p])
            kind = "best" if best else "bad" if "failed" in lost else ""
            cells.append(Cell(text, finite(means[i, p]), kind))
        rows.append(cells)
    return {"columns": ["Data", *(found.rows[j].label for j in range(len(order)))], "rows": rows}


def tested(frame: pd.DataFrame, found: Board, names: Names) -> dict[str, Any] | None:
    """Mean and spread of the test score, where the score itself is one of validation."""
    table = score_table(frame, "test")
    if not np.isfinite(table.scores).any():
        return None
    means, sds = table.means, table.sds
    order = [table.labels.index(row.label) for row in found.rows]
    rows = []
    for p, data in enumerate(table.problems):
        sign = 1 if table.directions[p] == "max" else -1
        best = np.fmax.reduce(sign * means[:, p])
        cells = [data_cell(data, names)]
        for i in order:
            text = short(means[i, p])
            text += f" ± {short(sds[i, p], 2)}" if math.isfinite(sds[i, p]) else ""
            kind = "best" if sign * means[i, p] == best else ""
            cells.append(Cell(text, finite(means[i, p]), kind))
        rows.append(cells)
    return {"columns": ["Data", *(row.label for row in found.rows)], "rows": rows}


def normalised(found: Board, names: Names) -> dict[str, Any] | None:
    """The score on the board's scale for each data set, None for a single one."""
    table = found.table
    usable = [p for p, data in enumerate(table.problems) if data not in found.unscaled]
    if len(usable) < 2:
        return None
    order = [table.labels.index(row.label) for row in found.rows]
    means = nanmean(found.values, axis=2)
    rows = []
    for p in usable:
        cells = [data_cell(table.problems[p], names)]
        for i in order:
            values = found.values[i, p][np.isfinite(found.values[i, p])]
            sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
            text = spread(means[i, p], sd if sd > 5e-4 else math.nan, 3)
            kind = "best" if means[i, p] >= np.nanmax(means[:, p]) - 1e-9 else ""
            cells.append(Cell(text, finite(means[i, p]), kind))
        rows.append(cells)
    return {"columns": ["Data", *(row.label for row in found.rows)], "rows": rows}


def relative(found: Board, names: Names, reference: str | None) -> dict[str, Any] | None:
    """Losses relative to the reference's, None where there are none to show."""
    against = reference or found.rows[0].label if found.rows else ""
    ratios = relative_losses(found.table, against)
    usable = [p for p in range(len(found.table.problems)) if np.isfinite(ratios[:, p]).any()]
    if not usable:
        return None
    order = [found.table.labels.index(row.label) for row in found.rows]
    rows = [
        [
            data_cell(found.table.problems[p], names),
            *(number(ratios[i, p], 3, _shade(ratios[i, p])) for i in order),
        ]
        for p in usable
    ]
    means = [_geometric(ratios[i, usable]) for i in order]
    return {
        "reference": against,
        "columns": ["Data", *(row.label for row in found.rows)],
        "rows": rows,
        "means": [number(value, 3, _shade(value)) for value in means],
    }


def microseconds(frame: pd.DataFrame, found: Board, names: Names) -> dict[str, Any] | None:
    """CPU microseconds of a unit, and how many times the cheapest that is; None for no costs."""
    done = frame[(frame["status"] == "ok") & (frame["units"] > 0)]
    if done.empty:
        return None
    each = 1e6 * done["cpu_seconds"] / done["units"]
    means = each.groupby([done["data"], done["label"]]).mean()
    rows = []
    for data in found.table.problems:
        costs = [means.get((data, row.label), math.nan) for row in found.rows]
        least = np.fmin.reduce(costs)
        cells = [
            Cell(
                f"{short(cost, 3)} (× {short(cost / least, 3)})",
                cost,
                "best" if cost == least else "",
            )
            if math.isfinite(cost)
            else Cell("–")
            for cost in costs
        ]
        rows.append([data_cell(data, names), *cells])
    return {
        "unit": str(done["unit"].iloc[0]),
        "columns": ["Data", *(row.label for row in found.rows)],
        "rows": rows,
    }


def _lost(found: Board, i: int, p: int) -> str:
    """What is missing of a cell, in words."""
    states = found.table.states[i, p]
    kinds = (
        (FAILED, "failed"),
        (EARLY, "ended early"),
        (SKIPPED, "skipped"),
        (NOT_RUN, "not run"),
    )
    counts = [(int((states == state).sum()), word) for state, word in kinds]
    if sum(n for n, _ in counts) == len(states):
        return ", ".join(word for n, word in counts if n)
    return ", ".join(f"{n} {word}" for n, word in counts if n)


def _shade(ratio: float) -> str:
    return (
        ""
        if not math.isfinite(ratio)
        else "good"
        if ratio < 0.995
        else "bad"
        if ratio > 1.005
        else ""
    )


def _geometric(ratios: Floats) -> float:
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    return float(np.exp(np.log(finite).mean())) if finite.size else math.nan
