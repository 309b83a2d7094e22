"""The engine of all pages: sections of text, charts and tables in one file that opens offline."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaseboard.tasks.report.charts import Figure
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.numbers import short

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
    """Return a text, a count, a number, an interval or a truth as a cell; none is a dash.

    Examples
    --------
    >>> cell(1234).text, cell(0.25).text, cell(None).text, cell(True).text
    ('1,234', '0.25', '–', 'yes')
    """
    match value:
        case Cell():
            return value
        case str():
            return Cell(value)
        case None:
            return Cell("–")
        case bool() | np.bool_():
            return Cell("yes" if value else "no")
        case int() | np.integer():
            return Cell(f"{value:,}")
        case Interval():
            return Cell(f"{short(value.value, 3)} {value.ends(3)}".rstrip())
    return number(value)


def number(value: float, digits: int = 4, kind: str = "") -> Cell:
    """Return a number with significant digits as a cell."""
    return Cell(short(value, digits), kind)


def data_cell(data: str, names: Names) -> Cell:
    """Return a dataset as a cell: the suite's name for it; its reference is the hint."""
    return Cell(names[data], hint=data) if data in names else Cell(data)


@dataclass(frozen=True)
class Table:
    """Table that a reader can sort and filter, under a heading if it has a `title`."""

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
    callout: Table | None = None,
) -> str:
    """Return a page as HTML.

    - `answers`: the summary's questions with their answers, a list for each column.
    - `pictures`: of the summary.
    - `callout`: a table below the summary that deserves attention.
    """
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    style, code = ((Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
                   for name in ("report.css", "report.js"))  # fmt: skip
    return _environment().get_template("page.html").render(
        title=title,
        sections=sections,
        description=description,
        answers=answers,
        pictures=pictures,
        callout=callout,
        style=Markup(style),  # noqa: S704  (our own files)
        plotly=Markup(get_plotlyjs()),  # noqa: S704
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
