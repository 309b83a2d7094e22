"""One job over its time: its score while the budget is spent, and the growth of its features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from leaseboard.algorithms.events import Event, FeaturesExpanded, Measured, TrialFinished, of
from leaseboard.tasks.report.draw.specs import Figure, Trace, axis, colour, line, text, thinned
from leaseboard.tasks.score.table import Floats

MOST_POINTS = 40

Curve = tuple[Floats, Floats]
"""Units consumed, ascending, and the score then."""


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


def job_figure(events: Sequence[Event], unit: str, metric: str) -> Figure | None:
    """The anytime curve of one job."""
    x, y = curve_of(events)
    if len(x) < 2:
        return None
    kept = thinned(len(x), 2 * MOST_POINTS)
    layout = {"xaxis": axis(unit, type="log"), "yaxis": axis(metric), "height": 300}
    trace = line(0, metric, x[kept], y[kept])
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
