"""Anytime curves: the score of every algorithm while its budget is being spent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import Event, Measured, TrialFinished, of
from leaseboard.tasks.report.charts import (
    Figure,
    Trace,
    axis,
    band,
    chart,
    colour,
    scatter,
    score_axis,
    thinned,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section
from leaseboard.tasks.score.table import Floats, nanmean

SHARES = np.concatenate([[0.01, 0.02, 0.03, 0.05, 0.07], np.linspace(0.1, 1.0, 19)])

MOST_POINTS = 40
Curve: TypeAlias = tuple[Floats, Floats]
"""Units consumed, ascending, and the score then."""
ByCell: TypeAlias = Mapping[tuple[str, str], Sequence[Curve]]
"""``{(label, data): [curve of each finished repetition]}``."""


def job_curves(row: Any, events: Sequence[Event]) -> Curve | None:
    """Return the points that a finished job measured; of pulls, the best reward so far."""
    if row.status != "ok":
        return None
    points = [(point.at, point.value) for point in of(events, Measured)]
    if not points:
        trials = [each for each in of(events, TrialFinished) if each.status == "ok"]
        best = np.maximum.accumulate([each.reward for each in trials])
        points = list(zip((each.at for each in trials), best.tolist(), strict=True))
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return (array[:, 0], array[:, 1]) if points else None


def curves(made: Material) -> Section | None:
    """Return ranks over all datasets, then scores of each; None without a measured curve."""
    frame, table = made.frame, made.found.board.table
    scores: dict[tuple[str, str], list[Curve]] = {}
    for row, curve in made.by(job_curves):
        scores.setdefault((row.name, row.data), []).append(curve)
    directions = dict(zip(table.problems, table.directions, strict=True))
    drawn = []
    if not made.found.board.one_set:
        drawn.append(rank_figure(frame, scores, made.labels, directions))
    for data in table.problems:
        done = frame[(frame["data"] == data) & (frame["status"] == "ok")]
        for unit, metric in done[["unit", "metric"]].head(1).itertuples(index=False):
            name = made.name(data)
            drawn.append(data_figure(data, name, scores, made.labels, unit, metric))
    found = [figure for figure in drawn if figure is not None]
    if not found:
        return None
    folded = [replace(figure, folded=figure.title) for figure in found[1:]]
    return Section("curves", **wording("curves"), figures=[found[0], *folded])


def at_points(curve: Curve, points: Floats) -> Floats:
    """Return the last value measured at or before each of `points`; NaN before the first."""
    x, y = curve
    before = np.searchsorted(x, points, side="right") - 1
    return np.where(before >= 0, y[np.maximum(before, 0)], np.nan)


def data_figure(
    data: str, name: str, curves: ByCell, labels: Sequence[str], unit: str, metric: str
) -> Figure | None:
    """Return the median over repetitions with the quartiles as a band, for one dataset."""
    traces: list[Trace] = []
    scores: list[float] = []
    for index, label in enumerate(labels):
        mine = curves.get((label, data), ())
        if not mine:
            continue
        grid = np.unique(np.concatenate([x for x, _ in mine]))
        grid = grid[thinned(len(grid), MOST_POINTS)]
        values = np.array([at_points(curve, grid) for curve in mine])
        defined = np.isfinite(values).all(axis=0)
        grid, values = grid[defined], values[:, defined]
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
        if len(mine) > 1 and (high > low).any():
            traces.append(band(index, label, grid.tolist(), low.tolist(), high.tolist()))
        traces.append(_line(index, label, grid, middle))
        scores += middle.tolist()
    if not traces:
        return None
    note = "Median over repetitions; the band holds the middle half of them."
    title = f"Score while the budget is spent: {name}"
    across, up = axis(unit, type="log"), score_axis(metric, scores)
    return chart(title, note, traces, across, up, 440)


def rank_figure(
    frame: pd.DataFrame, curves: ByCell, labels: Sequence[str], directions: Mapping[str, str]
) -> Figure | None:
    """Return the mean rank over datasets against the share of the budget that is spent."""
    # A dataset without the metric that is asked for has no direction, and no rank.
    budgets = {data: 0.0 for data in frame["data"] if data in directions}
    for (_, data), found in curves.items():
        if data in budgets:
            budgets[data] = max(budgets[data], *(curve[0][-1] for curve in found))
    problems = [data for data, budget in budgets.items() if budget > 0]
    if not problems or len(labels) < 2:
        return None
    ranks = np.full((len(problems), len(labels), len(SHARES)), np.nan)
    for p, data in enumerate(problems):
        sign = 1 if directions[data] == "min" else -1
        points = SHARES * budgets[data]
        means = np.full((len(labels), len(SHARES)), np.nan)
        for i, label in enumerate(labels):
            if mine := curves.get((label, data), ()):
                means[i] = nanmean(np.array([at_points(c, points) for c in mine]), axis=0)
        # Ranks are compared over time only among those that have a score at the end.
        present = np.isfinite(means).any(axis=1)
        now = np.where(np.isfinite(means), sign * means, np.inf)[present]
        ranks[p, present] = pd.DataFrame(now).rank()
    averages = nanmean(ranks, axis=0)
    traces = [
        _line(i, label, SHARES * 100, averages[i])
        for i, label in enumerate(labels)
        if np.isfinite(averages[i]).any()
    ]
    note = (
        f"Rank of the mean score over repetitions, averaged over {len(problems)} datasets;"
        " an algorithm without a score so far ranks last."
    )
    return chart(
        "Mean rank while the budget is spent", note, traces, "share of the budget, %",
        axis("mean rank (1 is best)", autorange="reversed"), 440,
    )  # fmt: skip


def _line(index: int, label: str, x: Floats, y: Floats) -> Trace:
    dash = "dash" if index >= 10 else "solid"
    return scatter(label, x, y, colour(index), line={"dash": dash}, legendgroup=str(index))
