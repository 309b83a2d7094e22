"""Pictures that need no script: intervals, score against cost, the critical difference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from markupsafe import Markup, escape

from leaseboard.tasks.score.bootstrap import Interval
from leaseboard.tasks.score.leaderboard import Row
from leaseboard.tasks.score.significance import Comparison
from leaseboard.tasks.score.summary import bracket, fixed, short

FEWEST = 5
"""Of fewer estimates none can be told from the rest as an outlier."""
FAR = 10.0
"""In median absolute deviations from the median: beyond lie outliers."""
FLATTENED = 4.0
"""An outlier is shown unless it makes the range this many times as wide."""
COMMON = 2.0
"""A range that is never cut on the common scale, on which two anchors lie 1 apart."""


def frame(found: Sequence[Interval], never_cut: float = 0.0) -> tuple[float, float]:
    """The range of an axis: all of it, unless an outlier would flatten all others.

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
    return min(ends), max(ends)


class Scale:
    """A linear scale with a little room at both ends."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            pad = abs(low) * 0.05 or 1.0
            low, high = low - pad, high + pad
        self.low, self.high, self.start, self.stop = low, high, start, stop

    def __call__(self, value: float) -> float:
        """Where `value` lies in the picture."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, about: int) -> list[float]:
        """Round numbers between the ends."""
        raw = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


BEYOND = "An arrow points beyond the axis; the number beside it is the score there."
ROW = 24
CHARACTER = 7.6
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1b2129 } .tick { font-size: 12px; fill: #5a6572 }
.grid { stroke: #d9dde3 } .axis { stroke: #1b2129; fill: none; stroke-width: 1.2 }
.bar { stroke: #0b5cad; stroke-width: 3 } .dot { fill: #0b5cad } .beaten { fill: #5a6572 }
.clique { stroke: #1b2129; stroke-width: 5; stroke-linecap: round }"""
"""Of a picture outside the page, whose style sheet knows two themes."""


def intervals(rows: Sequence[Row], name: str) -> Markup:
    """A dot and a 95 % interval for each algorithm, best rank on top.

    Of its relative loss where there is one, else of its score.
    """
    kinds = [kind for kind in ("relative", "raw") if any(_is_there(row, kind) for row in rows)]
    kind = (kinds or ["score"])[0]
    shown = [(row.label, getattr(row, kind)) for row in rows]
    shown = [(label, found) for label, found in shown if math.isfinite(found.value)]
    if not shown:
        return Markup("")
    low, high = frame([found for _, found in shown], COMMON if kind == "score" else 0.0)
    left = min(210, 16 + CHARACTER * max(len(_cut(label)) for label, _ in shown))
    width, height = 500, 40 + ROW * len(shown)
    scale = Scale(low, high, left + 14, width - 24)
    parts = [_ticks(scale, height - 30, 5)]
    for i, (label, found) in enumerate(shown):
        y = 20 + ROW * i
        parts.append(_text(left, y + 4, _cut(label), "end"))
        if math.isfinite(found.lower):
            parts.append(_bar(scale, found, y))
        hint = f"{label}: {short(found.value)} {bracket(found, 4)}".rstrip()
        parts.append(_dot(scale, found.value, y, hint))
    if any(f.value < low or f.value > high or f.lower < low or f.upper > high for _, f in shown):
        parts.append(_text(width / 2, height + 8, BEYOND, "middle", "tick"))
        height += 16
    return _svg(width, height, f"Scores with 95 % intervals ({name})", parts)


def costs(rows: Sequence[Row], name: str, *, less: bool = False) -> Markup:
    """Draw score against cost; named are the algorithms that no other beats in both.

    On one dataset it is the score itself, of which less is better if `less`.
    """
    raw = any(math.isfinite(row.raw.value) for row in rows)
    points = [
        (row.label, row.relative_cost, (row.raw if raw else row.score).value) for row in rows
    ]
    points = [p for p in points if math.isfinite(p[1]) and math.isfinite(p[2])]
    if len(points) < 2:
        return Markup("")
    ends = [Interval(score, score, score) for _, _, score in points]
    low, high = frame(ends, 0.0 if raw else COMMON)
    width, height = 500, 246
    across = Scale(0.0, max(math.log10(cost) for _, cost, _ in points), 76, width - 70)
    up = Scale(low, high, height - 52, 46)
    axis = name if raw else f"{name.partition(':')[0]}, more is better"
    parts = [_text(8, 14, axis, "start", "tick")]
    for tick in up.ticks(4):
        parts.append(_grid(52, width - 20, up(tick), up(tick)))
        parts.append(_text(46, up(tick) + 4, short(round(tick, 12), 3), "end", "tick"))
    parts += [
        _text(across(power), height - 24, f"{10**power:g}", "middle", "tick")
        for power in range(math.floor(across.high) + 1)
    ]
    parts.append(
        _text((52 + width - 20) / 2, height - 6, "CPU time, times the cheapest", "middle", "tick")
    )
    named: list[tuple[float, float]] = []
    for label, cost, score in points:
        x, y = across(math.log10(cost)), up(min(max(score, low), high))
        beaten = any(
            c <= cost and (s <= score if less else s >= score) and (c, s) != (cost, score)
            for _, c, s in points
        )
        hint = f"{label}: {short(cost, 3)} times the cheapest, score {short(score)}"
        kind = "dot beaten" if beaten else "dot"
        if not low <= score <= high:
            tip = 4 if score < low else -4
            y += 2.25 * tip  # off the line of the last tick
            shape = f"M{x:.1f},{y + tip:.1f}l-5,{-2 * tip}h10z"
            parts.append(f'<path class="{kind}" d="{shape}"><title>{escape(hint)}</title></path>')
            parts.append(_text(x + 9, y + 4, short(score, 3), "start", "tick"))
        else:
            parts.append(_circle(x, y, hint, kind))
        free = all(abs(y - other_y) > 13 or abs(x - other_x) > 110 for other_x, other_y in named)
        if not beaten and free:
            named.append((x, y))
            parts.append(_text(x, y - 10, _cut(label, 18), "middle"))
    if any(not low <= score <= high for _, _, score in points):
        parts.append(_text(width / 2, height + 10, BEYOND, "middle", "tick"))
        height += 16
    return _svg(width, height, f"Score against cost ({name})", parts)


def critical_difference(tests: Comparison) -> Markup:
    """Demsar's diagram, narrow enough for any screen: a row each, bars join those alike."""
    k = len(tests.labels)
    if k < 2:
        return Markup("")
    width, top = 340, 50 if math.isfinite(tests.critical_difference) else 26
    words = [
        f"{_cut(label, 18)} {fixed(rank, 2)}"
        for label, rank in zip(tests.labels, tests.mean_ranks, strict=True)
    ]
    left = 8 + CHARACTER * max(map(len, words))
    scale = Scale(1, k, left + 10, width - 12 - 9 * len(tests.groups))
    every = math.ceil(k / 10)  # numbers of an axis this short would meet
    parts = [_axis(scale, top, k, every)]
    if math.isfinite(tests.critical_difference):
        parts.append(_ruler(scale, tests.critical_difference))
    for i, (said, rank) in enumerate(zip(words, tests.mean_ranks, strict=True)):
        y = top + ROW * (i + 0.75)
        parts.append(_grid(left + 4, scale(k), y, y))
        parts.append(_text(left, y + 4, said, "end"))
        parts.append(_circle(scale(rank), y, f"{tests.labels[i]}: mean rank {fixed(rank, 2)}"))
    places = {label: i for i, label in enumerate(tests.labels)}
    for i, group in enumerate(tests.groups):
        x = scale.stop + 10 + 9 * i
        first = top + ROW * (places[group[0]] + 0.75) - 4
        last = top + ROW * (places[group[-1]] + 0.75) + 4
        parts.append(
            f'<line class="clique" x1="{x:.1f}" x2="{x:.1f}" y1="{first:.1f}" y2="{last:.1f}"/>'
        )
    height = top + ROW * (k + 0.5)
    return _svg(width, height, "Critical difference diagram of mean ranks", parts)


def sheet(pictures: Sequence[tuple[str, Markup]]) -> str:
    """Titled pictures on a page of their own, dark on white."""
    shown = "".join(
        f"<h2>{escape(title)}</h2>{picture}\n" for title, picture in pictures if picture
    )
    style = f"body {{ font-family: system-ui, sans-serif; max-width: 800px }}\n{STYLE}"
    head = f'<meta charset="utf-8"><title>Figures</title><style>{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>\n{shown}</body></html>\n'


def _is_there(row: Row, kind: str) -> bool:
    return math.isfinite(getattr(row, kind).value)


def _bar(scale: Scale, found: Interval, y: float) -> str:
    """The part of an interval that the axis shows, with an arrow at an end that is cut off."""
    low, high = max(found.lower, scale.low), min(found.upper, scale.high)
    if not scale.low <= found.value <= scale.high:
        return ""  # the arrow of the estimate stands there
    place = f'x1="{scale(low):.1f}" x2="{scale(high):.1f}" y1="{y}" y2="{y}"'
    left = _arrow(scale, y, left=True) if low > found.lower else ""
    right = _arrow(scale, y, left=False) if high < found.upper else ""
    return f'<line class="bar" {place}/>{left}{right}'


def _arrow(scale: Scale, y: float, *, left: bool, hint: str = "") -> str:
    x, step = (scale.start - 6, 8) if left else (scale.stop + 6, -8)
    shape = f"M{x:.1f},{y}l{step},-5v10z"
    return f'<path class="dot" d="{shape}"><title>{escape(hint)}</title></path>'


def _dot(scale: Scale, value: float, y: float, hint: str) -> str:
    """The estimate; an arrow at the edge with its number, if it lies beyond."""
    if scale.low <= value <= scale.high:
        return _circle(scale(value), y, hint)
    left = value < scale.low
    x = scale.start + 10 if left else scale.stop - 10
    words = _text(x, y + 4, short(value, 3), "start" if left else "end", "tick")
    return _arrow(scale, y, left=left, hint=hint) + words


def _circle(x: float, y: float, hint: str, kind: str = "dot") -> str:
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="5"'
    return f'<circle class="{kind}" {place}><title>{escape(hint)}</title></circle>'


def _ticks(scale: Scale, y: float, about: int) -> str:
    parts = []
    for tick in scale.ticks(about):
        x = scale(tick)
        parts.append(_grid(x, x, 6, y))
        parts.append(_text(x, y + 18, short(round(tick, 12), 4), "middle", "tick"))
    return "".join(parts)


def _grid(x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _axis(scale: Scale, y: float, k: int, every: int = 1) -> str:
    parts = [f'<line class="axis" x1="{scale(1):.1f}" x2="{scale(k):.1f}" y1="{y}" y2="{y}"/>']
    for rank in range(1, k + 1, every):
        x = scale(rank)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 6}" y2="{y}"/>')
        parts.append(_text(x, y - 10, str(rank), "middle", "tick"))
    return "".join(parts)


def _ruler(scale: Scale, distance: float) -> str:
    """Nemenyi's distance as a ruler above the axis; cut off if it is wider than the axis."""
    start = scale(1)
    stop = min(scale(1 + distance), scale.stop)
    words = f"Nemenyi CD = {short(distance, 3)}"
    return f'<path class="axis" d="M{start:.1f},16v8m0,-4H{stop:.1f}m0,-4v8"/>' + _text(
        (start + stop) / 2, 12, words, "middle", "tick"
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "label") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'


def _cut(label: str, limit: int = 28) -> str:
    return label if len(label) <= limit else f"{label[: limit - 1]}…"


def _svg(width: int, height: float, title: str, parts: list[str]) -> Markup:
    return Markup(  # noqa: S704  (every text in `parts` went through `escape`)
        f'<svg class="plot" viewBox="0 0 {width} {height:.0f}" role="img"'
        f' aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
