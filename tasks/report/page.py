"""The engine of all pages: sections of text, charts and tables in one file that opens offline.

Charts are plain data for Plotly; ``texts.yaml`` has the wording of pages.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

Trace = dict[str, Any]
"""Part of a Plotly figure: a curve, points, an axis."""
PALETTE = (
    "#3b82c4", "#e07b22", "#2a9d6a", "#d1495b", "#8e6bbf",
    "#1fa3b5", "#b0892a", "#d76ba9", "#7a8b3c", "#9c6b4e",
)  # fmt: skip
"""Taken in order, again from the start when used up."""
INK, ACCENT = "#1b2129", "#0b5cad"

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
    title: str, note: str, data: Sequence[Trace], x: Trace, y: Trace, height: float
) -> Figure:
    """Return a figure with two axes, see `axis`."""
    lines = {"gridcolor": "#d9dde3", "zerolinecolor": "#d9dde3", "automargin": True}
    axes = {"xaxis": lines | x, "yaxis": lines | y}
    return Figure(title, note, data, _STYLE | axes | {"height": height})


def axis(title: str, **more: Any) -> Trace:
    """Return an axis with a title."""
    return {"title": {"text": text(title)}, **more}


def named_rows(names: Iterable[object]) -> Trace:
    """Return a vertical axis whose rows 0, 1, ... from the top have names."""
    shown = [text(name) for name in names]
    return axis("", tickvals=list(range(len(shown))), ticktext=shown, autorange="reversed")


def scatter(label: str, x: Iterable[Any], y: Iterable[Any], paint: str, **more: Any) -> Trace:
    """Return a curve or points in the colour `paint`; without a label it is not in the legend.

    - `more`: of the trace; of its ``line`` and its ``marker`` what differs from the usual.
    """
    usual: Trace = {"line": {"color": paint, "width": 2}, "marker": {"color": paint, "size": 6}}
    made: Trace = {"type": "scatter", "mode": "lines", "x": plain(x), "y": plain(y)}
    made |= {"name": text(label), "showlegend": bool(label)} | more
    return made | {part: usual[part] | more.get(part, {}) for part in usual}


def colour(index: int) -> str:
    """Return colour number `index`."""
    return PALETTE[index % len(PALETTE)]


_TEXTS: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8")
)


def wording(name: str, **given: object) -> dict[str, Any]:
    """Return the fields of a section or a table that ``texts.yaml`` has for its id, filled in."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        return " ".join(value.format(**given).split())

    return {key: filled(value) for key, value in _TEXTS[name].items()}


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


Names = Mapping[str, str]
"""Names of the datasets in a suite, by reference."""
_NUMBER = re.compile(r"–?|−?[\d.,]+( \S+| [±\[(].*)?")
"""Text of a cell that is a number, which may have a unit or an interval behind it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table's cell, a class for emphasis, and what the mouse over it shows."""

    text: str
    kind: str = ""
    hint: str = ""


def cell(value: Any) -> Cell:
    """Return a text or a count as a cell.

    Examples
    --------
    >>> cell(1234).text, cell("a").text
    ('1,234', 'a')
    """
    if isinstance(value, Cell):
        return value
    return Cell(value if isinstance(value, str) else f"{value:,}")


def data_cell(data: str, names: Names) -> Cell:
    """Return a dataset as a cell: the suite's name for it; its reference is the hint."""
    return Cell(names[data], hint=data) if data in names else Cell(data)


@dataclass(frozen=True)
class Table:
    """Table that a reader can sort, under a heading if it has a `title`."""

    id: str
    caption: str
    frame: pd.DataFrame
    """Its columns and rows; see `cell` for what a value becomes."""
    _: KW_ONLY
    title: str = ""
    text: str = ""
    note: str = ""
    key: int = 0
    """The column that names the row."""
    folded: str = ""
    """What a reader presses to see the table; it is open if empty."""

    @cached_property
    def rows(self) -> list[list[Cell]]:
        """All cells."""
        return [[cell(value) for value in row] for row in self.frame.to_numpy(dtype=object)]

    @property
    def numeric(self) -> list[bool]:
        """True for each column of numbers."""
        return [
            all(_NUMBER.fullmatch(row[place].text) for row in self.rows)
            for place in range(len(self.frame.columns))
        ]


@dataclass(frozen=True)
class Section:
    """Section of a page: `text`, then the figures, then the tables."""

    id: str
    title: str
    _: KW_ONLY
    nav: str = ""
    """What the links on top call it; no link if empty."""
    text: Sequence[str] = ()
    """A paragraph each; markup is shown raw."""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


def page_of(
    title: str,
    sections: Sequence[Section],
    *,
    description: str = "",
    answers: Sequence[Sequence[tuple[str, str]]] = (),
    pictures: Sequence[Figure] = (),
) -> str:
    """Return a page as HTML.

    - `answers`: the summary's questions with their answers, a list for each column.
    - `pictures`: of the summary.
    """
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    style, code = ((Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
                   for name in ("report.css", "report.js"))  # fmt: skip
    drawn = pictures or any(each.figures for each in sections)
    return _environment().get_template("page.html").render(
        title=title,
        sections=sections,
        description=description,
        answers=answers,
        pictures=pictures,
        style=Markup(style),  # noqa: S704  (our own files)
        plotly=Markup(get_plotlyjs() if drawn else ""),  # noqa: S704
        code=Markup(code),  # noqa: S704
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leaseboard.tasks.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawn"] = _drawn
    return environment


def _drawn(figure: Figure, name: str) -> Markup:
    """Return a figure as Plotly's HTML, the same for the same `name`; its JSON ends no script."""
    from plotly.io import to_html  # type: ignore[import-untyped]

    drawn = to_html(
        {"data": figure.data, "layout": figure.layout},
        config={"displayModeBar": False, "responsive": True},
        include_plotlyjs=False,
        full_html=False,
        validate=False,
        div_id=name,
    )
    return Markup(drawn)  # noqa: S704
