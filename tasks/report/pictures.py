"""The charts of a leaderboard: intervals, score against cost, the critical difference."""

from __future__ import annotations

import html
import io
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leaseboard.tasks.report.charts import (
    LOG,
    PALETTE,
    Figure,
    Trace,
    axis,
    chart,
    colour,
    named_rows,
    plain,
    scatter,
    sentences,
    text,
)
from leaseboard.tasks.report.page import Names
from leaseboard.tasks.score.inference import Comparison, Interval
from leaseboard.tasks.score.leaderboard import Board, Row
from leaseboard.tasks.score.numbers import fixed, short
from leaseboard.tasks.score.summary import Compared, bracket, score_name, several
from leaseboard.tasks.score.table import Floats, nanmean, relative_losses

FEWEST = 5
"""Fewer estimates have no outlier."""
FAR = 10.0
"""In median absolute deviations from the median: beyond lie outliers."""
FLATTENED = 4.0
"""An outlier is shown unless it makes the range this many times as wide."""
COMMON = 2.0
"""A range that is never cut on the common scale, on which two anchors lie 1 apart."""
BEYOND = " An arrow points beyond the axis; the number next to it is the score there."
DECADES = 3.0
"""The same of a relative loss, of which the axis is logarithmic."""
NARROW, LINE, GLYPH = 230.0, 15.0, 7.0
"""Pixels: width of a plot on a phone, height of a line, width of a letter."""
ROW = 26
"""Pixels."""


def figures(found: Compared) -> str:
    """Return the charts of a leaderboard as an HTML page of still pictures, without scripts."""
    ranks = None if found.board.one_set else critical_difference(found.tests)
    drawn = [*summary(found.board), *([replace(ranks, title="Mean ranks")] if ranks else [])]
    parts = "".join(
        f"<h2>{html.escape(each.title)}</h2>{still(each)}<p>{html.escape(each.note)}</p>"
        for each in drawn
    )
    title = html.escape(found.title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<body style="font-family: sans-serif; max-width: 60rem"><h1>{title}</h1>{parts}\n'
    )


_PAINTS = {"$accent": "#0b5cad", "$ink": "#1b2129", "$muted": "#5a6572"}
_ASIDE = {"left": -6, "center": 0, "right": 6}
_MARKERS = {"triangle-left": "<", "triangle-right": ">", "triangle-down": "v",
            "triangle-up": "^", "line-ns-open": "|"}  # fmt: skip


def still(figure: Figure) -> str:
    """Return a chart of points and lines on two axes as SVG; equal charts give equal bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import LogFormatter

    layout = figure.layout
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "", "text.parse_math": False}
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # texts stay texts, for the viewer's fonts
        canvas = Canvas(figsize=(9, layout["height"] / 90), layout="constrained")
        axes: Any = canvas.subplots()
        for trace in figure.data:
            x, y = np.array(trace["x"], float), np.array(trace["y"], float)
            paint = (trace.get("marker") or trace.get("line") or {"color": "$ink"})["color"]
            paints = np.array([_PAINTS.get(c, c) for c in np.broadcast_to(paint, len(x))])
            if "lines" in trace["mode"]:
                axes.plot(x, y, color=paints[0], linewidth=trace["line"]["width"])
            symbols = np.broadcast_to(trace.get("marker", {}).get("symbol", "circle"), len(x))
            for symbol in {*symbols.tolist()} if "markers" in trace["mode"] else ():
                of = symbols == symbol
                axes.scatter(x[of], y[of], trace["marker"].get("size", 9) ** 2, paints[of],
                             marker=_MARKERS.get(symbol, "o"), zorder=3, clip_on=False,
                             label=html.unescape(trace.get("name", "")))  # fmt: skip
            if ends := trace.get("error_x"):
                # By rounding, the mean of equal scores can be outside of its own interval.
                sides = np.maximum(np.array([ends["arrayminus"], ends["array"]], float), 0.0)
                axes.errorbar(x, y, xerr=sides, fmt="none",
                              elinewidth=2, ecolor=paints)  # fmt: skip
            spots = np.broadcast_to(trace.get("textposition", "top right"), len(x))
            for words, spot, *place in zip(trace.get("text", ()), spots, x, y, strict=False):
                up, side = spot.split()
                axes.annotate(
                    html.unescape(words), place, (_ASIDE[side], 4 if up == "top" else 0),
                    textcoords="offset points", va="bottom" if up == "top" else "center",
                    ha={"left": "right", "right": "left"}.get(side, "center"),
                )  # fmt: skip
        for name, of in (("x", axes.xaxis), ("y", axes.yaxis)):
            spec = layout[f"{name}axis"]
            is_log, ends = spec.get("type") == "log", spec.get("range")
            axes.set(**{f"{name}label": html.unescape(spec["title"]["text"].replace("<br>", "\n")),
                        f"{name}scale": "log" if is_log else "linear"})  # fmt: skip
            if is_log:  # the usual one writes formulas
                of.set_major_formatter(LogFormatter())
                of.set_minor_formatter(LogFormatter())
            if ends:
                axes.set(**{f"{name}lim": np.power(10.0, ends) if is_log else ends})
            if names := spec.get("ticktext"):
                of.set_ticks(spec["tickvals"], map(html.unescape, names))
            if spec.get("autorange") == "reversed":
                of.set_inverted(True)
        if any(trace.get("name") for trace in figure.data):
            axes.legend(fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue().partition("<svg")[1] + out.getvalue().partition("<svg")[2]


def summary(board: Board, names: Names | None = None) -> list[Figure]:
    """Return the intervals, and the score against its cost; `names`: of the datasets."""
    return list(filter(None, (intervals(board, names or {}), costs(board))))


def _measured(board: Board) -> tuple[str, list[tuple[Row, Interval]]]:
    """Return what the charts show, a relative loss if there is any, and the rows that have it."""
    for kind in ("relative", "raw", "score"):
        least = 0.0 if kind == "relative" else -math.inf
        of = ((row, getattr(row, kind)) for row in board.rows)
        found = [(row, one) for row, one in of if least < one.value < math.inf]
        if found:
            return kind, found
    return "", []


def intervals(board: Board, names: Names) -> Figure | None:
    """Return a dot and a 95 % interval for each algorithm, best rank on top.

    Of its relative loss where there is one, with a small dot for each dataset, else of its score.
    """
    kind, measured = _measured(board)
    if not measured:
        return None
    is_log, shown = kind == "relative", [(row.name, found) for row, found in measured]
    dots = list(_by_dataset(board, names, [label for label, _ in shown])) if is_log else []
    every = [found for _, found in shown]
    every += [Interval(x, math.nan, math.nan) for dot in dots for x in dot["x"]]
    low, high = visible(every, {"score": COMMON, "relative": DECADES}.get(kind, 0.0), is_log)
    if is_log:
        low, high = min(low, 1.0), max(high, 1.0)
    margin = 0.05 * (math.log10(high / low) if is_log else high - low)
    ends = [found if math.isfinite(found.lower) and low <= found.value <= high else
            Interval(found.value, found.value, found.value) for _, found in shown]  # fmt: skip
    large = scatter(
        "", (found.value for found in ends), range(len(ends)), "$accent", mode="markers",
        hints=(f"{label}: {short(found.value)} {bracket(found, 4)}".rstrip()
               for label, found in shown),
        marker={"size": 10}, cliponaxis=False,
        error_x={
            "type": "data", "symmetric": False, "thickness": 3, "width": 0,
            "color": "$accent", "array": [found.upper - found.value for found in ends],
            "arrayminus": [found.value - found.lower for found in ends],
        },
    )  # fmt: skip
    traces = [_cut_off(dot, low, high) for dot in [*dots, large]]
    lead = _capital(score_name(board))
    title, across = "Scores", axis(lead.partition(":")[0].partition(",")[0])
    across["range"] = [low - margin, high + margin]
    if is_log:
        level = {"dash": "dash", "width": 1.2}
        place = -math.log10(low) / math.log10(high / low)
        side = "right" if place < 0.3 else "left" if place > 0.7 else "center"
        traces.insert(0, scatter("", [1, 1], [-0.6, len(shown) - 0.5], "$muted", line=level,
                                 mode="lines+text", text=["best naive baseline", ""],
                                 textposition=f"top {side}", hoverinfo="skip"))  # fmt: skip
        title, lead = "Relative loss", sentences("relative-loss.chart", loss=_capital(board.loss))
        across = axis("Relative loss, logarithmic", **_log(low, high))
        across["range"] = [math.log10(low) - margin, math.log10(high) + margin]
    note = f"{lead.rstrip('.')}."
    if any(math.isfinite(found.lower) for _, found in shown):
        note += " A line is the 95 % interval."
    note += sentences("relative-loss.dots").join((" ", "")) if dots else ""
    if any(f.value < low or f.value > high or f.lower < low or f.upper > high for f in every):
        note += BEYOND
    rows = named_rows(_cut(label) for label, _ in shown) | {"zeroline": False}
    rows |= {"autorange": False, "range": [len(shown) - 0.4, -1.3 if is_log else -0.6]}
    height = 100 + (ROW + 8 * bool(dots)) * len(shown)
    return chart(title, note, traces, across | {"zeroline": False}, rows, height)


def _by_dataset(board: Board, names: Names, labels: Sequence[str]) -> Iterator[Trace]:
    """Yield the relative losses of each dataset, named in the legend if colours suffice."""
    if board.one_set:
        return
    table = board.table
    ratios = nanmean(relative_losses(table, board.baselines), axis=2)
    baselines = [table.labels.index(label) for label in board.baselines if label in table.labels]
    for p, data in enumerate(table.problems):
        name = names.get(data, data)
        places = [(i, row) for i, label in enumerate(labels)
                  if math.isfinite(ratios[row := table.labels.index(label), p])
                  and ratios[row, p] > 0]  # fmt: skip
        if not places:
            continue
        best = baselines[int(np.nanargmin(table.means[baselines, p]))]
        few = len(table.problems) <= len(PALETTE)
        hints = (
            f"{table.labels[row]} on {name}: {short(ratios[row, p], 3)}\n{board.loss}"
            f" {short(table.means[row, p])}; {table.labels[best]} {short(table.means[best, p])}"
            for _, row in places
        )
        yield scatter(
            name if few else "", (ratios[row, p] for _, row in places),
            (i + 0.32 for i, _ in places), colour(p) if few else "$muted", mode="markers",
            hints=hints, marker={"size": 6}, cliponaxis=False,
        )  # fmt: skip


def costs(board: Board) -> Figure | None:
    """Return relative loss, else score, against cost; every dot has the name of its algorithm."""
    kind, measured = _measured(board)
    points = [(row.name, row.cpu_seconds, found.value) for row, found in measured
              if math.isfinite(row.cpu_seconds) and row.cpu_seconds > 0]  # fmt: skip
    if len(points) < 2:
        return None
    is_log, raw = kind == "relative", kind == "raw"
    _, seconds, scores = map(list, zip(*points, strict=True))
    low, high = visible([Interval(s, s, s) for s in scores],
                        {"score": COMMON, "relative": DECADES}.get(kind, 0.0), is_log)  # fmt: skip
    inside = [min(max(score, low), high) for score in scores]
    height = 330 + LINE * max(0, len(points) - 12)
    ends = [math.log10(min(seconds)), math.log10(max(seconds))]
    pad = 0.15 * ((ends[1] - ends[0]) or 1.0)
    x = (np.log10(seconds) - ends[0] + pad) / (ends[1] - ends[0] + 2 * pad)
    scale = np.log10 if is_log else np.asarray
    floor, top = scale(low), scale(high)
    margin = 0.12 * (top - floor)
    y = (scale(inside) - floor + margin) / (top - floor + 2 * margin)
    words = [f"{_cut(label, 18)}{'' if low <= score <= high else f' ({short(score, 3)})'}"
             for label, _, score in points]  # fmt: skip
    placed = apart(x * NARROW, y * (height - 110), words)
    names = (floor - margin) + (top - floor + 2 * margin) * placed[0] / (height - 110)
    heights = 10.0**names if is_log else names
    sign = -1 if is_log or (raw and board.less_is_better) else 1
    worse = [
        any(c <= cost and sign * s >= sign * score and (c, s) != (cost, score)
            for _, c, s in points)
        for _, cost, score in points
    ]  # fmt: skip
    symbols = ["circle" if low <= score <= high else f"triangle-{'up' if score > high else 'down'}"
               for score in scores]  # fmt: skip
    paints = ["$muted" if each else "$accent" for each in worse]
    what = "relative loss" if is_log else "score"
    dots = scatter(
        "", seconds, inside, "$accent", mode="markers", cliponaxis=False,
        hints=(f"{label}: {what} {short(score)}, {short(cost, 3)} CPU s a job"
               for label, cost, score in points),
        marker={"size": 9, "color": paints, "symbol": symbols},
    )  # fmt: skip
    lines: list[tuple[Any, Any]] = []
    for cost, one, name, moved in zip(seconds, inside, heights, placed[1], strict=True):
        lines += [(cost, one), (cost, name), (None, None)] if moved else []
    leaders = scatter("", (x for x, _ in lines), (y for _, y in lines), "$muted",
                      line={"width": 1}, hoverinfo="skip")  # fmt: skip
    tags = scatter("", seconds, heights, "$ink", mode="text",
                   text=[text(f"\u2002{word}\u2002") for word in words],
                   textposition=[f"middle {side}" for side in placed[2]], hoverinfo="skip",
                   textfont={"size": 12}, cliponaxis=False)  # fmt: skip
    name = score_name(board)
    up = axis(name.replace(", ", "\n") if raw else f"{name.partition(':')[0]}\nmore is better",
              range=[low - margin, high + margin])  # fmt: skip
    note = f"{_capital(name)}, against CPU seconds."
    if is_log:
        up = axis("Relative loss\nless is better", range=[floor - margin, top + margin],
                  **_log(low, high))  # fmt: skip
        note = sentences("relative-loss.costs")
    note += " Blue are the algorithms that no other beats in both."
    note += BEYOND if any(not low <= score <= high for score in scores) else ""
    title = f"{_capital(what)} against CPU time"
    across = axis("CPU seconds a job, logarithmic", **_log(min(seconds), max(seconds)))
    across["range"] = [ends[0] - pad, ends[1] + pad]
    return chart(
        title,
        note,
        [*([leaders] if lines else []), dots, tags],
        across,
        up | {"zeroline": False},
        height,
    )


def _log(low: float, high: float) -> dict[str, Any]:
    """Return a logarithmic axis that writes 2 and 5 if there is room."""
    return LOG | ({"dtick": 1} if high > 20 * low else {})


def apart(x: Floats, y: Floats, words: Sequence[str]) -> tuple[Floats, list[bool], list[str]]:
    """Return heights and sides for the names of points, in pixels, so that none overlap.

    Also whether a name is away from its point.
    """
    boxes = [(a - 5, a + 5, b - 5, b + 5) for a, b in zip(x, y, strict=True)]
    heights, sides = y.copy(), ["right"] * len(words)
    for i in np.argsort(-y, kind="stable").tolist():
        wide = GLYPH * len(words[i])
        for step in sorted(range(-2 * len(words), 2 * len(words) + 1), key=abs):
            spot = y[i] + 0.5 * step * LINE
            right = x[i] + 8, x[i] + 8 + wide, spot - LINE / 2, spot + LINE / 2
            left = x[i] - 8 - wide, x[i] - 8, spot - LINE / 2, spot + LINE / 2
            fits = [(side, box) for side, box in (("right", right), ("left", left))
                    if (box[1] <= NARROW if side == "right" else box[0] >= 0)]  # fmt: skip
            free = [(side, box) for side, box in fits or [("right", right)]
                    if not any(box[0] < b and a < box[1] and box[2] < d and c < box[3]
                               for a, b, c, d in boxes)]  # fmt: skip
            if free:
                sides[i], box = free[0]
                heights[i] = spot
                boxes.append(box)
                break
    return heights, [bool(abs(a - b) > LINE / 2) for a, b in zip(heights, y, strict=True)], sides


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
    notes = [sentences("critical-difference", sets=several(tests.n))]
    if math.isfinite(tests.critical_difference):
        stop = min(1 + tests.critical_difference, float(k))
        ruler = f"Nemenyi CD = {short(tests.critical_difference, 3)}"
        traces.append(
            scatter("", [1, stop], [-0.8, -0.8], "$ink", mode="lines+markers+text",
                    line={"width": 1.2}, marker={"symbol": "line-ns-open", "size": 9},
                    text=[ruler, ""], textposition="top right", hoverinfo="skip")
        )  # fmt: skip
    if math.isfinite(tests.friedman_p):
        p, distance = short(tests.friedman_p, 2), short(tests.critical_difference, 3)
        notes.append(sentences("critical-difference.friedman", p=p, distance=distance))
    if tests.excluded:
        names = ", ".join(tests.excluded)
        notes.append(sentences("critical-difference.excluded", names=names))
    note = " ".join(notes)
    ranked = zip(tests.labels, tests.mean_ranks, strict=True)
    rows = named_rows(f"{_cut(label)}  {fixed(rank, 2)}" for label, rank in ranked)
    rows |= {"autorange": False, "range": [k - 0.4, -1.6], "showgrid": True, "zeroline": False}
    across = axis("", range=[1 - step, k + step * (2 + len(tests.groups))], side="top",
                  dtick=math.ceil(k / 10), tick0=1, zeroline=False)  # fmt: skip
    return chart("Critical difference of mean ranks", note, traces, across, rows, 120 + ROW * k)


def visible(
    found: Sequence[Interval], never_cut: float = 0.0, is_log: bool = False
) -> tuple[float, float]:
    """Return the range of an axis: all of it, unless an outlier would flatten all others.

    - `found`: estimates, which are finite, with their intervals, which need not be.
    - `never_cut`: a range up to this width is shown whole; in decades if `is_log`.
    """
    if is_log:
        ends = ((one.value, one.lower, one.upper) for one in found)
        logs = [[math.log10(end) if end > 0 else math.nan for end in each] for each in ends]
        low, high = visible([Interval(*each) for each in logs], never_cut)
        return 0.999 * 10.0**low, 1.001 * 10.0**high  # rounding cuts no end off
    whole = _hull(found)
    values = np.array([one.value for one in found])
    middle = float(np.median(values))
    reach = FAR * float(np.median(np.abs(values - middle)))
    if len(values) < FEWEST or reach == 0:
        return whole
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


def _cut_off(dots: Trace, low: float, high: float) -> Trace:
    """Return points of which those beyond an axis are arrows at its edge with their number."""
    values, slack = dots["x"], 1e-4 * max(abs(low), abs(high))  # they have five digits
    low, high = low - slack, high + slack
    if all(low <= value <= high for value in values):
        return dots
    dots["x"] = plain(min(max(value, low), high) for value in values)
    dots["text"] = ["" if low <= value <= high else short(value, 3) for value in values]
    dots["marker"]["symbol"] = ["circle" if low <= value <= high else
                                f"triangle-{'right' if value > high else 'left'}"
                                for value in values]  # fmt: skip
    dots["mode"] = "markers+text"
    dots["textposition"] = [f"middle {'left' if v > high else 'right'}" for v in values]
    return dots


def _cut(label: str, limit: int = 28) -> str:
    return label if len(label) <= limit else f"{label[: limit - 1]}…"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
