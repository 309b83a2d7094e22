"""Anytime curves: the score of every algorithm while its budget is being spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from algorithms.events import Event, FeaturesExpanded, Measured, TrialFinished, of
from tasks.report.specs import Figure, Trace, axis, colour, rounded, text, thinned
from tasks.score.table import Floats, nanmean, ranked

MOST_POINTS = 40
SHARES = np.concatenate([[0.01, 0.02, 0.03, 0.05, 0.07], np.linspace(0.1, 1.0, 19)])

Curve = tuple[Floats, Floats]
"""Units consumed, ascending, and the score then."""

Curves = Mapping[tuple[str, str], Sequence[Curve]]
"""``{(label, data): [curve of each finished repetition]}``."""


def curve_of(events: Sequence[Event]) -> Curve:
    """The points that a job measured; of pulls, the best reward so far."""
    points = [(point.at, point.value) for point in of(events, Measured)]
    if not points:
        points = [(trial.at, best) for trial, best, _ in _trials(events)]
    return _curve(points)


def cost_curve_of(events: Sequence[Event]) -> Curve:
    """The best reward so far against the CPU seconds that the trials were charged."""
    return _curve([(seconds, best) for _, best, seconds in _trials(events)])


def _trials(events: Sequence[Event]) -> Iterator[tuple[TrialFinished, float, float]]:
    """Every trial once there is a reward, with the best reward and the CPU seconds so far."""
    best, seconds = -math.inf, 0.0
    for trial in of(events, TrialFinished):
        seconds += trial.cpu_seconds
        if trial.status == "ok":
            best = max(best, trial.reward)
        if math.isfinite(best):
            yield trial, best, seconds


def _curve(points: list[tuple[float, float]]) -> Curve:
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def at_points(curve: Curve, points: Floats) -> Floats:
    """The last value measured at or before each of `points`; NaN before the first."""
    x, y = curve
    before = np.searchsorted(x, points, side="right") - 1
    return np.where(before >= 0, y[np.maximum(before, 0)], np.nan)


def data_figure(
    data: str, curves: Curves, labels: Sequence[str], unit: str, metric: str
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
        traces.append(_line(index, label, grid, middle, dashed=index >= 10))
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
    frame: pd.DataFrame, curves: Curves, labels: Sequence[str], directions: Mapping[str, str]
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
        _line(i, label, SHARES * 100, averages[i], dashed=i >= 10)
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


def job_figure(events: Sequence[Event], unit: str, metric: str) -> Figure | None:
    """The anytime curve of one job."""
    x, y = curve_of(events)
    if len(x) < 2:
        return None
    kept = thinned(len(x), 2 * MOST_POINTS)
    layout = {"xaxis": axis(unit, type="log"), "yaxis": axis(metric), "height": 300}
    trace = _line(0, metric, x[kept], y[kept])
    return Figure(
        "Score while the budget is spent",
        "The job's own score after so many units.",
        [trace | {"showlegend": False}],
        layout,
        log="xy",
    )


def expansion_figure(events: Sequence[Event]) -> Figure | None:
    """How many features apple used in each epoch, and which parents it chose."""
    found = of(events, FeaturesExpanded)
    if not found:
        return None
    kept = [found[i] for i in thinned(len(found), MOST_POINTS)]
    hover = [text(f"degree {e.degree}; parents {', '.join(e.parents[:8])}") for e in kept]
    trace: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "line": {"shape": "hv", "color": colour(0), "width": 2},
        "x": [event.epoch for event in kept],
        "y": [event.size for event in kept],
        "hovertext": hover,
        "hovertemplate": "epoch %{x}: %{y} features<br>%{hovertext}<extra></extra>",
        "showlegend": False,
    }
    layout = {"xaxis": axis("epoch"), "yaxis": axis("features"), "height": 300}
    return Figure("Expansion of the features", "Size after each choice.", [trace], layout, log="y")


def _line(index: int, label: str, x: Floats, y: Floats, *, dashed: bool = False) -> Trace:
    line = {"color": colour(index), "width": 2}
    if dashed:
        line["dash"] = "dash"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text(label),
        "legendgroup": str(index),
        "x": rounded(x.tolist()),
        "y": rounded(y.tolist()),
        "line": line,
    }


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
