"""The charts of a board: intervals, score against cost, the critical difference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from leaseboard.tasks.report.charts import (
    LOG,
    Figure,
    Trace,
    axis,
    chart,
    named_rows,
    plain,
    scatter,
    text,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.score.inference import Comparison, Interval
from leaseboard.tasks.score.leaderboard import Board
from leaseboard.tasks.score.summary import bracket, fixed, short

FEWEST = 5
"""Of fewer estimates none can be told from the rest as an outlier."""
FAR = 10.0
"""In median absolute deviations from the median: beyond lie outliers."""
FLATTENED = 4.0
"""An outlier is shown unless it makes the range this many times as wide."""
COMMON = 2.0
"""A range that is never cut on the common scale, on which two anchors lie 1 apart."""
BEYOND = " An arrow points beyond the axis; the number beside it is the score there."
ROW = 26
"""Pixels."""


def figures(found: Compared) -> list[Figure]:
    """Return the charts of the summary, and the ranks where there are any."""
    ranks = None if found.board.one_set else critical_difference(found.tests)
    return [*summary(found.board), *([replace(ranks, title="Mean ranks")] if ranks else [])]


def summary(board: Board) -> list[Figure]:
    """Return the intervals, and the score against its cost."""
    return list(filter(None, (intervals(board), costs(board))))


def intervals(board: Board) -> Figure | None:
    """Return a dot and a 95 % interval for each algorithm, best rank on top.

    Of its relative loss where there is one, else of its score.
    """
    found = [
        (row.label, kind, getattr(row, kind))
        for kind in ("relative", "raw", "score")
        for row in board.rows
        if math.isfinite(getattr(row, kind).value)
    ]
    shown = [(label, estimate) for label, kind, estimate in found if kind == found[0][1]]
    if not shown:
        return None
    lead = (
        f"Relative loss in {board.metric}, below 1 is better than the best baseline"
        if board.baselines
        else terminal.score_name(board)
    )
    low, high = visible([found for _, found in shown], COMMON if found[0][1] == "score" else 0.0)
    ends = [found if math.isfinite(found.lower) and low <= found.value <= high else
            Interval(found.value, found.value, found.value) for _, found in shown]  # fmt: skip
    dots = _cut_off(
        scatter(
            "", (found.value for found in ends), range(len(ends)), "$accent", mode="markers",
            hints=(f"{label}: {short(found.value)} {bracket(found, 4)}".rstrip()
                   for label, found in shown),
            marker={"size": 9}, cliponaxis=False, showlegend=False,
            error_x={
                "type": "data", "symmetric": False, "thickness": 3, "width": 0,
                "color": "$accent", "array": [found.upper - found.value for found in ends],
                "arrayminus": [found.value - found.lower for found in ends],
            },
        ), "x", [found.value for _, found in shown], low, high,
    )  # fmt: skip
    note = f"{_capital(lead)}. A line is the 95 % bootstrap interval."
    if any(f.value < low or f.value > high or f.lower < low or f.upper > high for _, f in shown):
        note += BEYOND
    room = 0.05 * (high - low)
    return chart(
        "Scores with 95 % intervals", note, [dots],
        axis("", range=[low - room, high + room], zeroline=False),
        named_rows(_cut(label) for label, _ in shown) | {"zeroline": False},
        90 + ROW * len(shown),
    )  # fmt: skip


def costs(board: Board) -> Figure | None:
    """Return score against cost; named are the algorithms that no other beats in both."""
    raw = board.one_set
    sign = -1 if board.less_is_better else 1
    points = [
        (row.label, row.relative_cost, (row.raw if raw else row.score).value) for row in board.rows
    ]
    points = [p for p in points if math.isfinite(p[1]) and math.isfinite(p[2])]
    if len(points) < 2:
        return None
    scores = [score for *_, score in points]
    low, high = visible([Interval(s, s, s) for s in scores], 0.0 if raw else COMMON)
    span = max(math.log10(cost) for _, cost, _ in points) or 1.0
    names, taken = [], list[tuple[float, float]]()
    beaten = [
        any(c <= cost and sign * s >= sign * score and (c, s) != (cost, score)
            for _, c, s in points)
        for _, cost, score in points
    ]  # fmt: skip
    for (label, cost, score), worse in zip(points, beaten, strict=True):
        x, y = math.log10(cost) / span, (min(max(score, low), high) - low) / (high - low)
        free = all(abs(y - other) > 0.1 or abs(x - across) > 0.3 for across, other in taken)
        names.append("" if worse or not free else text(_cut(label, 18)))
        taken += [(x, y)] * bool(names[-1])
    dots = scatter(
        "", (cost for _, cost, _ in points), scores, "$accent", mode="markers+text",
        hints=(f"{label}: {short(cost, 3)} times the cheapest, score {short(score)}"
               for label, cost, score in points),
        marker={"size": 9, "color": ["$muted" if worse else "$accent" for worse in beaten]},
        text=names, textposition="top center", cliponaxis=False,
    )  # fmt: skip
    name = terminal.score_name(board)
    note = (
        f"{_capital(name)}, against CPU seconds{'' if raw else ', both averaged over data sets'}."
        " Named are the algorithms that no other beats in both."
    )
    note += BEYOND if any(not low <= score <= high for score in scores) else ""
    room = 0.12 * (high - low)
    return chart(
        "Score against CPU seconds", note, [_cut_off(dots, "y", scores, low, high)],
        axis("CPU time, times the cheapest", **(LOG | {"dtick": 1} if span > 2 else LOG),
             range=[-0.15 * span, 1.15 * span]),
        axis(name.replace(", ", "\n") if raw else f"{name.partition(':')[0]}\nmore is better",
             range=[low - room, high + room]),
        330,
    )  # fmt: skip


def critical_difference(tests: Comparison) -> Figure | None:
    """Return Demsar's diagram: a row each, bars join neighbours that do not differ."""
    k = len(tests.labels)
    if k < 2:
        return None
    traces = [
        scatter(
            "", tests.mean_ranks, range(k), "$accent", mode="markers", marker={"size": 9},
            hints=(f"{label}: mean rank {fixed(rank, 2)}"
                   for label, rank in zip(tests.labels, tests.mean_ranks, strict=True)),
        )
    ]  # fmt: skip
    step = 0.04 * (k - 1)
    for i, group in enumerate(tests.groups):
        ends = [tests.labels.index(group[0]) - 0.2, tests.labels.index(group[-1]) + 0.2]
        traces.append(
            scatter("", [k + step * (2 + i)] * 2, ends, "$ink", line={"width": 5},
                    hoverinfo="skip")
        )  # fmt: skip
    if math.isfinite(tests.critical_difference):
        stop = min(1 + tests.critical_difference, float(k))
        ruler = f"Nemenyi CD = {short(tests.critical_difference, 3)}"
        traces.append(
            scatter("", [1, stop], [-0.8, -0.8], "$ink", mode="lines+markers+text",
                    line={"width": 1.2}, marker={"symbol": "line-ns-open", "size": 9},
                    text=["", ruler], textposition="top left", hoverinfo="skip")
        )  # fmt: skip
    note = (
        f"Mean ranks over {tests.n} data set{'' if tests.n == 1 else 's'}, the best first. A thick"
        " bar joins neighbours that do not differ by pairwise Wilcoxon signed-rank tests with"
        " Holm’s correction at 5 %."
    )
    if math.isfinite(tests.friedman_p):
        note += (
            f" Friedman’s test that all rank alike: p = {short(tests.friedman_p, 2)}. Nemenyi’s"
            f" critical difference is {short(tests.critical_difference, 3)}."
        )
    if tests.excluded:
        note += (
            " Left out, because they have no result on some of these data sets:"
            f" {', '.join(tests.excluded)}."
        )
    ranked = zip(tests.labels, tests.mean_ranks, strict=True)
    rows = named_rows(f"{_cut(label)}  {fixed(rank, 2)}" for label, rank in ranked)
    rows |= {"autorange": False, "range": [k - 0.4, -1.6], "showgrid": True, "zeroline": False}
    across = axis("", range=[1 - step, k + step * (2 + len(tests.groups))], side="top",
                  dtick=math.ceil(k / 10), tick0=1, zeroline=False)  # fmt: skip
    return chart("Critical difference of mean ranks", note, traces, across, rows, 120 + ROW * k)


def visible(found: Sequence[Interval], never_cut: float = 0.0) -> tuple[float, float]:
    """Return the range of an axis: all of it, unless an outlier would flatten all others.

    - `found`: estimates, which are finite, with their intervals, which need not be.
    - `never_cut`: a range up to this width is shown whole.
    """
    values = [one.value for one in found]
    whole = _hull(found)
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    if len(values) < FEWEST or deviation == 0:
        return whole
    reach = FAR * deviation
    low, high = _hull([one for one in found if abs(one.value - middle) <= reach])
    # An estimate that is near may still have an end that is far; no estimate shown is cut off.
    near = max(low, middle - reach), min(high, middle + reach)
    wide = max(FLATTENED * (near[1] - near[0]), never_cut)
    return whole if whole[1] - whole[0] <= wide else near


def _hull(found: Sequence[Interval]) -> tuple[float, float]:
    ends = [e for one in found for e in (one.value, one.lower, one.upper) if math.isfinite(e)]
    low, high = min(ends), max(ends)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        pad = abs(low) * 0.05 or 1.0
        return low - pad, high + pad
    return low, high


def _cut_off(dots: Trace, along: str, values: Sequence[float], low: float, high: float) -> Trace:
    """Return points of which those beyond an axis are arrows at its edge with their number."""
    ends = {"x": ("triangle-left", "triangle-right"), "y": ("triangle-down", "triangle-up")}[along]
    inside = [low <= value <= high for value in values]
    words = dots.get("text", [""] * len(values))
    dots[along] = plain(min(max(value, low), high) for value in values)
    dots["text"] = [old if shown else short(value, 3)
                    for value, shown, old in zip(values, inside, words, strict=True)]  # fmt: skip
    dots["marker"]["symbol"] = ["circle" if shown else ends[int(value > high)]
                                for value, shown in zip(values, inside, strict=True)]  # fmt: skip
    if along == "x":
        dots["mode"] = "markers+text"
        dots["textposition"] = [f"middle {'left' if v > high else 'right'}" for v in values]
    return dots


def _cut(label: str, limit: int = 28) -> str:
    return label if len(label) <= limit else f"{label[: limit - 1]}…"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
