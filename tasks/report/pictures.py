"""The charts of a leaderboard: every algorithm with its interval, and its score against cost."""

from __future__ import annotations

import math

from leaseboard.tasks.report.charts import (
    ACCENT,
    LOG,
    MUTED,
    Figure,
    axis,
    chart,
    named_rows,
    scatter,
    sentences,
    text,
)
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.leaderboard import Board, Row
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.score.summary import bracket, score_name

LOWEST = -1.0
"""A score on the common scale below is not drawn at first: it would flatten all others."""
LABEL = 28
"""Characters of a name that are drawn."""


def summary(board: Board) -> list[Figure]:
    """Return the intervals, and the score against its cost."""
    for kind in ("relative", "raw", "score"):
        least = 0.0 if kind == "relative" else -math.inf
        of = ((row, getattr(row, kind)) for row in board.rows)
        found = [(row, one) for row, one in of if least < one.value < math.inf]
        if found:
            across = _axis(board, kind, [one.value for _, one in found])
            drawn = [_intervals(found, across)]
            return [*drawn, _costs(found, across)] if len(found) > 1 else drawn
    return []


def _axis(board: Board, kind: str, values: list[float]) -> dict[str, object]:
    """Return the axis of scores, logarithmic for relative losses."""
    if kind == "relative":
        return axis("relative loss, less is better", **LOG)
    across = axis(score_name(board).partition(":")[0])
    low, high = min(values), max(values)
    if kind == "score" and low < LOWEST < high:
        across["range"] = [LOWEST, high + 0.05 * (high - LOWEST)]
    return across


def _intervals(found: list[tuple[Row, Interval]], across: dict[str, object]) -> Figure:
    """Return a dot and a 95 % interval for each algorithm, the best on top."""
    ends = [one if math.isfinite(one.lower) else Interval(one.value, one.value, one.value)
            for _, one in found]  # fmt: skip
    dots = scatter(
        "", (one.value for one in ends), range(len(ends)), ACCENT, mode="markers",
        hints=(f"{row.name}: {short(one.value)} {bracket(one, 4)}".rstrip() for row, one in found),
        marker={"size": 10},
        error_x={
            "type": "data", "symmetric": False, "thickness": 3, "width": 0,
            "array": [one.upper - one.value for one in ends],
            "arrayminus": [one.value - one.lower for one in ends],
        },
    )  # fmt: skip
    rows = named_rows(text(row.name)[:LABEL] for row, _ in found) | {"zeroline": False}
    height = 100 + 26 * len(found)
    some = any(math.isfinite(one.lower) for _, one in found)
    note = sentences("scores.chart") if some else ""
    return chart("Scores", note, [dots], across, rows, height)


def _costs(found: list[tuple[Row, Interval]], across: dict[str, object]) -> Figure:
    """Return score against cost; every dot has the name of its algorithm."""
    dots = scatter(
        "", (row.cpu_seconds for row, _ in found), (one.value for _, one in found), ACCENT,
        mode="markers+text", text=[text(row.name)[:LABEL] for row, _ in found],
        textposition="top center", cliponaxis=False, textfont={"size": 11, "color": MUTED},
        hints=(f"{row.name}: {short(one.value)}, {short(row.cpu_seconds, 3)} CPU s a job"
               for row, one in found),
    )  # fmt: skip
    seconds = axis("CPU seconds a job", **LOG)
    title = "Score against CPU time"
    return chart(title, sentences("costs.chart"), [dots], seconds, across, 380)
