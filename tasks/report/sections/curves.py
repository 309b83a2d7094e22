"""Anytime curves: the score of every algorithm while its budget is being spent."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import Event
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
from leaseboard.tasks.report.job_charts import MOST_POINTS, Curve, cost_curve_of, curve_of
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section
from leaseboard.tasks.score.table import Floats, nanmean

SHARES = np.concatenate([[0.01, 0.02, 0.03, 0.05, 0.07], np.linspace(0.1, 1.0, 19)])

ByCell: TypeAlias = Mapping[tuple[str, str], Sequence[Curve]]
"""``{(label, data): [curve of each finished repetition]}``."""


def job_curves(row: Any, events: Sequence[Event]) -> tuple[Curve, Curve] | None:
    """Return the curve of a finished job, over units and over CPU seconds."""
    return (curve_of(events), cost_curve_of(events)) if row.status == "ok" else None


def curves(made: Material) -> Section | None:
    """Return the anytime figures, one at a time; None where no curve was measured."""
    drawn = list(anytime(made))
    if not drawn:
        return None
    choices, figures = zip(*drawn, strict=True)
    return Section("curves", **wording("curves"), figures=figures, choices=choices)


def anytime(made: Material) -> Iterator[tuple[str, Figure]]:
    """Yield ranks over all datasets first, then the figures of each dataset, by label."""
    frame, table = made.frame, made.found.board.table
    scores: dict[tuple[str, str], list[Curve]] = {}
    costs: dict[tuple[str, str], list[Curve]] = {}
    for row, (score, cost) in made.by(job_curves):
        for found, curve in ((scores, score), (costs, cost)):
            if len(curve[0]):
                found.setdefault((row.name, row.data), []).append(curve)
    directions = dict(zip(table.problems, table.directions, strict=True))
    if not made.found.board.one_set:
        ranks = rank_figure(frame, scores, made.labels, directions)
        if ranks is not None:
            yield "All datasets: mean rank", ranks
    for data in table.problems:
        done = frame[(frame["data"] == data) & (frame["status"] == "ok")]
        if not len(done):
            continue
        unit, metric = done.iloc[0]["unit"], done.iloc[0]["metric"]
        name = made.name(data)
        for label, found, over in ((name, scores, unit),
                                   (f"{name}, by CPU seconds", costs, "CPU seconds")):  # fmt: skip
            if (figure := data_figure(data, found, made.labels, over, metric)) is not None:
                yield label, figure


def at_points(curve: Curve, points: Floats) -> Floats:
    """Return the last value measured at or before each of `points`; NaN before the first."""
    x, y = curve
    before = np.searchsorted(x, points, side="right") - 1
    return np.where(before >= 0, y[np.maximum(before, 0)], np.nan)


def data_figure(
    data: str, curves: ByCell, labels: Sequence[str], unit: str, metric: str
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
    title = "Score while the budget is spent"
    across, up = axis(unit, type="log"), score_axis(metric, scores)
    return chart(title, note, traces, across, up, 440, log="xy")


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
        axis("mean rank (1 is best)", autorange="reversed"), 440, log="x",
    )  # fmt: skip


def _line(index: int, label: str, x: Floats, y: Floats) -> Trace:
    dash = "dash" if index >= 10 else "solid"
    return scatter(label, x, y, colour(index), line={"dash": dash}, legendgroup=str(index))
