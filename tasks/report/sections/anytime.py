"""Anytime curves: the score of every algorithm while its budget is being spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.report.draw.specs import (
    Figure,
    Trace,
    axis,
    colour,
    line,
    rounded,
    text,
    thinned,
)
from leaseboard.tasks.report.job.curve import MOST_POINTS, Curve, cost_curve_of, curve_of
from leaseboard.tasks.report.section import Material, Section, named
from leaseboard.tasks.score.table import Floats, nanmean, ranked

SHARES = np.concatenate([[0.01, 0.02, 0.03, 0.05, 0.07], np.linspace(0.1, 1.0, 19)])

ByCell: TypeAlias = Mapping[tuple[str, str], Sequence[Curve]]
"""``{(label, data): [curve of each finished repetition]}``."""


def job_curves(row: Any, events: Sequence[Event]) -> tuple[Curve, Curve] | None:
    """The curve of a finished job, over units and over CPU seconds."""
    return (curve_of(events), cost_curve_of(events)) if row.status == "ok" else None


@dataclass(frozen=True, kw_only=True)
class Pickable(Section):
    """One figure at a time, which the reader picks by its label."""

    template: ClassVar[str] = "sections/anytime.html"

    labels: Sequence[str]


def section(made: Material) -> Section | None:
    """The anytime figures, one at a time; None where no curve was measured."""
    drawn = list(anytime(made))
    if not drawn:
        return None
    labels, figures = zip(*drawn, strict=True)
    return Pickable("curves", "Score over time", nav="Curves", figures=figures, labels=labels)


def anytime(made: Material) -> Iterator[tuple[str, Figure]]:
    """Ranks over all data sets first, then the figures of each data set, by label."""
    frame, table = made.frame, made.found.board.table
    scores: dict[tuple[str, str], list[Curve]] = {}
    costs: dict[tuple[str, str], list[Curve]] = {}
    for row, (score, cost) in made.by(job_curves):
        scores.setdefault((row.label, row.data), []).append(score)
        costs.setdefault((row.label, row.data), []).append(cost)
    directions = dict(zip(table.problems, table.directions, strict=True))
    if not made.found.board.one_set:
        ranks = rank_figure(frame, scores, made.labels, directions)
        if ranks is not None:
            yield "All data sets: mean rank", ranks
    for data in table.problems:
        done = frame[(frame["data"] == data) & (frame["status"] == "ok")]
        if not len(done):
            continue
        unit, metric = done.iloc[0]["unit"], done.iloc[0]["metric"]
        name = named(data, made.names)
        figure = data_figure(data, scores, made.labels, unit, metric)
        if figure is not None:
            yield name, figure
        figure = data_figure(data, costs, made.labels, "CPU seconds", metric)
        if figure is not None:
            yield f"{name}, by CPU seconds", figure


def at_points(curve: Curve, points: Floats) -> Floats:
    """The last value measured at or before each of `points`; NaN before the first."""
    x, y = curve
    before = np.searchsorted(x, points, side="right") - 1
    return np.where(before >= 0, y[np.maximum(before, 0)], np.nan)


def data_figure(
    data: str, curves: ByCell, labels: Sequence[str], unit: str, metric: str
) -> Figure | None:
    """Median over repetitions with the quartiles as a band, for one data set."""
    traces: list[Trace] = []
    for index, label in enumerate(labels):
        mine = [curve for curve in curves.get((label, data), ()) if len(curve[0])]
        if not mine:
            continue
        grid = np.unique(np.concatenate([x for x, _ in mine]))
        grid = grid[thinned(len(grid), MOST_POINTS)]
        values = np.array([at_points(curve, grid) for curve in mine])
        defined = np.isfinite(values).all(axis=0)
        grid, values = grid[defined], values[:, defined]
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
        if len(mine) > 1 and (high > low).any():
            traces.append(_band(index, label, grid, low, high))
        traces.append(line(index, label, grid, middle, dashed=index >= 10))
    if not traces:
        return None
    layout = {
        "xaxis": axis(unit, type="log"),
        "yaxis": axis(metric),
        "height": 440,
    }
    note = "Median over repetitions; the band holds the middle half of them."
    return Figure("Score while the budget is spent", note, traces, layout, log="xy")


def rank_figure(
    frame: pd.DataFrame, curves: ByCell, labels: Sequence[str], directions: Mapping[str, str]
) -> Figure | None:
    """Mean rank over data sets against the share of the budget that is spent."""
    budgets = {
        data: max((curve[0][-1] for (_, d), mine in curves.items() if d == data
                   for curve in mine if len(curve[0])), default=0.0)
        for data in dict.fromkeys(frame["data"])
    }  # fmt: skip
    problems = [data for data, budget in budgets.items() if budget > 0]
    if not problems or len(labels) < 2:
        return None
    ranks = np.full((len(problems), len(labels), len(SHARES)), np.nan)
    for p, data in enumerate(problems):
        sign = 1 if directions[data] == "min" else -1
        points = SHARES * budgets[data]
        means = np.full((len(labels), len(SHARES)), np.nan)
        for i, label in enumerate(labels):
            mine = [curve for curve in curves.get((label, data), ()) if len(curve[0])]
            if mine:
                means[i] = nanmean(np.array([at_points(c, points) for c in mine]), axis=0)
        # Ranks are compared over time only among those who have a score all along.
        present = np.isfinite(means).any(axis=1)
        for s in range(len(SHARES)):
            now = means[present, s]
            now = np.where(np.isfinite(now), sign * now, np.inf)
            ranks[p, present, s] = ranked(now)
    averages = nanmean(ranks, axis=0)
    traces = [
        line(i, label, SHARES * 100, averages[i], dashed=i >= 10)
        for i, label in enumerate(labels)
        if np.isfinite(averages[i]).any()
    ]
    layout = {
        "xaxis": axis("share of the budget, %"),
        "yaxis": axis("mean rank (1 is best)", autorange="reversed"),
        "height": 440,
    }
    note = (
        f"Rank of the mean score over repetitions, averaged over {len(problems)} data sets;"
        " an algorithm without a score so far ranks last."
    )
    return Figure("Mean rank while the budget is spent", note, traces, layout, log="x")


def _band(index: int, label: str, x: Floats, low: Floats, high: Floats) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text(label),
        "legendgroup": str(index),
        "showlegend": False,
        "hoverinfo": "skip",
        "x": rounded([*x.tolist(), *x.tolist()[::-1]]),
        "y": rounded([*low.tolist(), *high.tolist()[::-1]]),
        "fill": "toself",
        "fillcolor": colour(index, 0.16),
        "line": {"width": 0, "color": colour(index)},
    }
