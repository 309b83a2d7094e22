"""The engine of all pages: sections of text, charts and tables in one file that opens offline."""

from __future__ import annotations

import json
import math
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
from leaseboard.tasks.score.numbers import fixed, short

Names = Mapping[str, str]
"""Names of the datasets in a suite, by reference."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Table cell: its text, what it is sorted by, and a class for emphasis."""

    text: str
    value: float | str = ""
    kind: str = ""
    hint: str = ""

    @property
    def order(self) -> float | None:
        """Number by which the cell is sorted, None if its text says it."""
        if isinstance(self.value, str) or not math.isfinite(self.value):
            return None
        return float(f"{self.value:.6g}")


def cell(value: Any, kind: str = "") -> Cell:
    """Return a text, a count, a number or a truth as a cell; None and NaN are a dash.

    Examples
    --------
    >>> cell(1234).text, cell(0.25).text, cell(None).text, cell(True).text
    ('1,234', '0.25', '–', 'yes')
    """
    match value:
        case Cell():
            return value
        case str():
            return Cell(value, value, kind)
        case None:
            return Cell("–")
        case bool() | np.bool_():
            return Cell("yes" if value else "no", int(value), kind)
        case int() | np.integer():
            return Cell(f"{value:,}", int(value), kind)
    return number(value, kind=kind)


def number(value: float, digits: int = 4, kind: str = "") -> Cell:
    """Return a number with significant digits as a cell; NaN sorts last."""
    return Cell(short(value, digits), value, kind)


def rounded(value: float, decimals: int = 3) -> Cell:
    """Return a number with so many decimals as a cell."""
    return Cell(fixed(value, decimals), value)


def percent(share: float) -> Cell:
    """Return a share as a cell."""
    return Cell(f"{share:.1%}".replace("%", " %"), share) if math.isfinite(share) else Cell("–")


def count(n: int, kind: str = "bad") -> Cell:
    """Return a count that has emphasis unless it is 0."""
    return cell(int(n), kind if n else "")


def spread(value: str, sd: float | None, decimals: int) -> str:
    """Return a mean with its standard deviation, if there is one."""
    return value if sd is None or not math.isfinite(sd) else f"{value} ± {fixed(sd, decimals)}"


def data_cell(data: str, names: Names) -> Cell:
    """Return a dataset as a cell: the suite's name for it; its reference is the hint."""
    name = names.get(data, data)
    return Cell(name, name, hint="" if name == data else data)


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
        values = self.frame.itertuples(index=False, name=None)
        return [[cell(value) for value in row] for row in values]

    @cached_property
    def numeric(self) -> list[bool]:
        """True for each column of numbers."""
        columns = zip(*self.rows, strict=True)
        return [all(not isinstance(each.value, str) or each.value == "" for each in column)
                for column in columns] or [False] * len(self.frame.columns)  # fmt: skip


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
        scripts=[Markup(get_plotlyjs()), Markup(code)],  # noqa: S704
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
    environment.filters["json"] = _json
    return environment


def _json(figure: Figure) -> Markup:
    """Return a figure as JSON that ends no script element; NaN is an error."""
    found = {"data": figure.data, "layout": figure.layout}
    content = json.dumps(found, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(content.replace("<", "\\u003c"))  # noqa: S704
