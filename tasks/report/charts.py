"""Charts for Plotly as plain data, and the wording of pages."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

Trace = dict[str, Any]
PALETTE = (
    "#3b82c4", "#e07b22", "#2a9d6a", "#d1495b", "#8e6bbf",
    "#1fa3b5", "#b0892a", "#d76ba9", "#7a8b3c", "#9c6b4e",
)  # fmt: skip
"""Taken in order, again from the start when used up."""
INK, MUTED, ACCENT = "#1b2129", "#5a6572", "#0b5cad"

LOG = {"type": "log", "dtick": "D2", "tickformat": "~g"}
"""An axis that writes 20 and 50; without a format Plotly writes small digits on every decade."""

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
    made |= {"name": text(label), "showlegend": bool(label)}
    made["line"] = {"color": paint, "width": 2, **(line or {})}
    made["marker"] = {"color": paint, "size": 6, **(marker or {})}
    if hints is not None:
        made["hovertext"] = [text(hint) for hint in hints]
        made["hovertemplate"] = "%{hovertext}<extra></extra>"
    return made | more


def band(index: int, x: Sequence[Any], low: Sequence[Any], high: Sequence[Any]) -> Trace:
    """Return the area between two curves, in the group of the line that has the same `index`."""
    return scatter(
        "", [*x, *reversed(x)], [*low, *reversed(high)], colour(index), line={"width": 0},
        fill="toself", fillcolor=f"{colour(index)}29", hoverinfo="skip", legendgroup=str(index),
    )  # fmt: skip


def colour(index: int) -> str:
    """Return colour number `index`; two more digits make it translucent."""
    return PALETTE[index % len(PALETTE)]


@cache
def _texts() -> Mapping[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        Path(__file__).with_name("texts.yaml").read_text("utf-8")
    )
    return found


def wording(name: str, **given: object) -> dict[str, Any]:
    """Return the fields of a section or a table that ``texts.yaml`` has for its id, filled in."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        return " ".join(value.format(**given).split())

    return {key: filled(value) for key, value in _texts()[name].items()}


def text(value: object) -> str:
    """Return `value` as Plotly shows it literally: it would read ``<b>`` as markup."""
    return html.escape(str(value), quote=False)


def plain(values: Iterable[Any]) -> list[Any]:
    """Return texts unchanged, and numbers with seven significant digits, None for NaN."""
    return [
        value if isinstance(value, str)
        else None if value is None or not math.isfinite(value)
        else float(f"{value:.7g}")
        for value in values
    ]  # fmt: skip


def thinned(count: int, most: int) -> list[int]:
    """Return at most `most` of the indices below `count`, spread evenly from first to last."""
    spread = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    found: list[int] = np.unique(spread).tolist()
    return found
