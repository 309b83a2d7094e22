"""Chart specifications for Plotly as plain data; the page's script only draws them."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from leaseboard.algorithms.configurations import Configuration, phrase

Trace = dict[str, Any]
PALETTE = (
    "#3b82c4", "#e07b22", "#2a9d6a", "#d1495b", "#8e6bbf",
    "#1fa3b5", "#b0892a", "#d76ba9", "#7a8b3c", "#9c6b4e",
)  # fmt: skip
"""Taken in order, again from the start when used up."""
INK, MUTED, ACCENT = "#1b2129", "#5a6572", "#0b5cad"

LOG = {"type": "log", "dtick": "D2", "tickformat": "~g"}
"""An axis that writes 20 and 50; without a format Plotly writes small digits on every decade."""

STAR = {"symbol": "star", "size": 13, "line": {"color": "white", "width": 1.5}}
"""The marker of a change of champion."""

STEEP = 30.0
"""Ratio of the largest score of a curve to the least one, beyond which its axis is logarithmic."""

_STYLE: Trace = {
    "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
    "margin": {"l": 56, "r": 14, "t": 10, "b": 44},
    "legend": {"orientation": "h", "yref": "container", "y": 0},
    "hoverlabel": {"namelength": 60, "align": "left"},
    "plot_bgcolor": "white",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A titled Plotly figure; `note` says in one sentence how to read it."""

    title: str
    note: str
    data: Sequence[Trace]
    layout: Mapping[str, Any]
    folded: str = ""
    """What a reader presses to see the figure; it is open if empty."""


def chart(
    title: str,
    note: str,
    data: Sequence[Trace],
    x: str | Mapping[str, Any] = "",
    y: str | Mapping[str, Any] = "",
    height: float = 400,
    **layout: Any,
) -> Figure:
    """Return a figure with two axes, each given by its title or by `axis`."""
    lines = {"gridcolor": "#d9dde3", "zerolinecolor": "#d9dde3", "automargin": True}
    axes = {name: lines | dict(axis(each) if isinstance(each, str) else each)
            for name, each in (("xaxis", x), ("yaxis", y))}  # fmt: skip
    return Figure(title, note, data, _STYLE | axes | {"height": height} | layout)


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with a title, which may have several lines."""
    return {"title": {"text": text(title).replace("\n", "<br>")}, **more}


def score_axis(metric: str, scores: Iterable[float]) -> dict[str, Any]:
    """Return the vertical axis of scores over time.

    It is logarithmic where the losses of the first examples would flatten all later ones.
    """
    found = [score for score in scores if math.isfinite(score)]
    steep = bool(found) and min(found) > 0 and max(found) > STEEP * min(found)
    return axis(metric, **({"type": "log", "tickformat": "~g"} if steep else {}))


def named_rows(names: Iterable[object]) -> dict[str, Any]:
    """Return a vertical axis whose rows 0, 1, ... from the top have names."""
    shown = [text(name) for name in names]
    return axis("", tickvals=list(range(len(shown))), ticktext=shown, autorange="reversed")


def scatter(
    label: str,
    x: Iterable[Any],
    y: Iterable[Any],
    paint: str,
    *,
    mode: str = "lines",
    line: Mapping[str, Any] | None = None,
    marker: Mapping[str, Any] | None = None,
    hints: Iterable[str] | None = None,
    **more: Any,
) -> Trace:
    """Return a curve or points in the colour `paint`; without a label it is not in the legend.

    `line`, `marker`: what differs from the usual; `hints`: read when the mouse is over a point.
    """
    made: Trace = {"type": "scatter", "mode": mode, "x": plain(x), "y": plain(y)}
    made |= {"name": text(label)} if label else {"showlegend": False}
    if "lines" in mode:
        made["line"] = {"color": paint, "width": 2, **(line or {})}
    if "markers" in mode:
        made["marker"] = {"color": paint, "size": 6, **(marker or {})}
    return made | _hints(hints) | more


def bar(
    label: str,
    x: Iterable[Any],
    y: Iterable[Any],
    paint: Any,
    *,
    hints: Iterable[str] | None = None,
    **more: Any,
) -> Trace:
    """Return bars, of which `more` may say that they lie, and where they begin."""
    made: Trace = {"type": "bar", "x": plain(x), "y": plain(y)}
    made |= {"name": text(label)} if label else {"showlegend": False}
    return made | {"marker": {"color": paint, "line": {"width": 0}}} | _hints(hints) | more


def band(index: int, label: str, x: Sequence[Any], low: Sequence[Any], high: Sequence[Any],
         alpha: float = 0.16) -> Trace:  # fmt: skip
    """Return the area between two curves, in the group of the line that has the same `index`."""
    return scatter(
        label, [*x, *reversed(x)], [*low, *reversed(high)], colour(index), line={"width": 0},
        fill="toself", fillcolor=colour(index, alpha), hoverinfo="skip", legendgroup=str(index),
        showlegend=False,
    )  # fmt: skip


def _hints(hints: Iterable[str] | None) -> Trace:
    if hints is None:
        return {}
    shown = [text(hint).replace("\n", "<br>") for hint in hints]
    return {"hovertext": shown, "hovertemplate": "%{hovertext}<extra></extra>"}


def colour(index: int, alpha: float = 1.0) -> str:
    """Return colour number `index`; translucent for a band."""
    value = PALETTE[index % len(PALETTE)]
    if alpha >= 1:
        return value
    red, green, blue = (int(value[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


@cache
def _texts() -> Mapping[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        Path(__file__).with_name("texts.yaml").read_text("utf-8")
    )
    return found


def sentences(name: str, **given: object) -> str:
    """Return a text of ``texts.yaml`` in one line, with what it leaves to be filled in."""
    return str(_filled(_texts()[name], given))


def wording(name: str, **given: object) -> dict[str, Any]:
    """Return the fields of a section or a table that ``texts.yaml`` has for its id, filled in."""
    return {key: _filled(value, given) for key, value in _texts()[name].items()}


def _filled(value: Any, given: Mapping[str, object]) -> Any:
    match value:
        case str():
            return " ".join(value.format(**given).split())
        case list():
            return [_filled(each, given) for each in value]
    return value


def text(value: object) -> str:
    """Return `value` as Plotly shows it literally: it would read ``<b>`` as markup."""
    return html.escape(str(value), quote=False)


def plain(values: Iterable[Any], digits: int = 5) -> list[Any]:
    """Return texts unchanged, and numbers with so many significant digits, None for NaN."""
    return [value if isinstance(value, str) else short_number(value, digits) for value in values]


def short_number(value: float | None, digits: int = 5) -> float | int | None:
    """Return one number with `digits` significant digits; whole numbers are written whole."""
    if value is None or not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 1e12:
        return int(value)
    return float(f"{value:.{digits}g}")


def thinned(count: int, most: int) -> list[int]:
    """Return at most `most` of the indices below `count`, spread evenly from first to last."""
    spread = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    found: list[int] = np.unique(spread).tolist()
    return found


def name_of(number: int, parameters: Mapping[str, Any], limit: int = 48) -> str:
    """Return the name of a configuration in pictures: its number and its own parameters.

    Examples
    --------
    >>> name_of(2, {"learner": "LightGBM", "max_depth": 3})
    '2: LightGBM, max_depth=3'
    """
    words = phrase(parameters)
    if len(words) > limit:
        words = f"{words[: limit - 1]}…"
    return f"{number}: {words}" if words else str(number)


def names_of(configurations: Iterable[Configuration], limit: int = 48) -> dict[int, str]:
    """Return the name of every configuration, without the parameters that all share."""
    listed = list(configurations)
    keys = {key for record in listed for key in record.parameters}
    varying = {
        key for key in keys if len({repr(record.parameters.get(key)) for record in listed}) > 1
    }
    return {
        record.configuration: name_of(
            record.configuration,
            {k: v for k, v in record.parameters.items() if k in varying or len(listed) == 1},
            limit,
        )
        for record in listed
    }
