"""The engine of all pages: tables, sections, and one file that opens offline and sends nothing.

A section is some sentences, charts, and tables made of frames. A page's data are gzipped JSON in
base64, unpacked by the browser when they are looked at. A browser lets the page run its own two
scripts and draw.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.report.charts import Figure, compact
from leaseboard.tasks.score.numbers import fixed, short

Names = Mapping[str, str]
"""Names of the datasets in a suite, by reference."""

MOST_ROWS = 100
"""A longer table is packed, as text in HTML would make the page large."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Table cell: its text, what it is sorted by, and a class for emphasis."""

    text: str
    value: float | str = ""
    kind: str = ""
    hint: str = ""
    link: str = ""

    @property
    def order(self) -> float | str | None:
        """Sort key of the cell, None if it follows from the text."""
        if self.value == self.text or (self.value == "" and self.text == "–"):
            return None
        if isinstance(self.value, str):
            return self.value
        try:
            float(self.text.replace("−", "-").replace(",", ""))
        except ValueError:
            return float(f"{self.value:.6g}")
        return None


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


def number(value: float, digits: int = 4, kind: str = "", hint: str = "") -> Cell:
    """Return a number with significant digits as a cell; NaN sorts last."""
    return Cell(short(value, digits), finite(value), kind, hint)


def rounded(value: float, decimals: int = 3, hint: str = "", kind: str = "") -> Cell:
    """Return a number with so many decimals as a cell."""
    return Cell(fixed(value, decimals), finite(value), kind, hint)


def percent(share: float) -> Cell:
    """Return a share as a cell."""
    return Cell(f"{share:.1%}".replace("%", " %"), share) if math.isfinite(share) else Cell("–")


def count(n: int, kind: str = "bad") -> Cell:
    """Return a count that has emphasis unless it is 0."""
    return cell(int(n), kind if n else "")


def finite(value: float) -> float | str:
    """Return a number to sort by; nothing, which sorts last, for NaN."""
    return value if math.isfinite(value) else ""


def spread(value: str, sd: float | None, decimals: int) -> str:
    """Return a mean with its standard deviation, if there is one."""
    return value if sd is None or not math.isfinite(sd) else f"{value} ± {fixed(sd, decimals)}"


def data_cell(data: str, names: Names) -> Cell:
    """Return a dataset as a cell: the suite's name for it; its reference is the hint."""
    name = names.get(data, data)
    return Cell(name, name, hint="" if name == data else data)


@dataclass(frozen=True)
class Table:
    """Table that a reader can sort, under a heading of its own if it has a `title`."""

    id: str
    caption: str
    frame: pd.DataFrame
    """Its columns and rows; see `cell` for what a value becomes."""
    _: KW_ONLY
    title: str = ""
    text: str = ""
    note: str = ""
    filters: str = ""
    """Rows that a field above the table filters, if there are more than `few`; empty: no field."""
    few: int = 8
    pick: str = ""
    """A column of which a reader may pick a value."""
    key: int = 0
    """The column that names the row."""
    details: pd.DataFrame | None = None
    """More columns, which the page of a row shows; the row is found by its ``Key`` there."""
    foot: Sequence[Cell] = ()
    """A last row that is never sorted, called `foot_name`."""
    foot_name: str = ""
    tall: bool = False
    """It scrolls by itself rather than make the page long."""
    folded: str = ""
    """What a reader presses to see the table; it is open if empty."""

    @property
    def columns(self) -> list[str]:
        """The heads."""
        return list(self.frame.columns)

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
                for column in columns] or [False] * len(self.columns)  # fmt: skip

    @property
    def choices(self) -> list[str]:
        """The values of the column `pick`."""
        place = self.columns.index(self.pick)
        return sorted({row[place].text for row in self.rows})

    @property
    def is_packed(self) -> bool:
        """True if the page's script writes the rows."""
        return self.details is not None or len(self.frame) > MOST_ROWS

    def payload(self) -> list[dict[str, Any]]:
        """Return the columns for the page's script: names, and lists of what cells hold."""
        found: list[dict[str, Any]] = []
        for place, name in enumerate(self.columns):
            column = [row[place] for row in self.rows]
            names = {"text": "text", "v": "order", "kind": "kind", "hint": "hint", "link": "link"}
            lists = {key: [getattr(each, of) for each in column] for key, of in names.items()}
            kept = {key: each for key, each in lists.items() if set(each) - {None, ""}}
            found.append({"name": name} | {"text": lists["text"]} | kept)
        for name, texts in () if self.details is None else self.details.items():
            found.append({"name": name, "text": list(texts)})
        return found


@dataclass(frozen=True)
class Section:
    """Section of a page: `text`, then the figures, then the tables."""

    id: str
    title: str
    _: KW_ONLY
    nav: str = ""
    """What the links on top call it; no link if empty."""
    callout: str = ""
    text: Sequence[str] = ()
    """A paragraph each; markup is shown raw."""
    figures: Sequence[Figure] = ()
    choices: Sequence[str] = ()
    """The figures' labels, if a reader picks one of them at a time."""
    tables: Sequence[Table] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else the page unpacks when it is looked at, by the id of its block."""

    def data(self) -> Mapping[str, Any]:
        """Return all that the page unpacks, by the id of its block."""
        figures = {f"{self.id}-{i}": figure.payload() for i, figure in enumerate(self.figures)}
        tables = {f"{each.id}-rows": each.payload() for each in self.tables if each.is_packed}
        return figures | tables | dict(self.more)


def page_of(
    title: str,
    sections: Sequence[Section],
    *,
    made_from: str = "",
    description: str = "",
    answers: Sequence[Sequence[tuple[str, str]]] = (),
    pictures: Sequence[Figure] = (),
    callout: Table | None = None,
    urgent: bool = False,
) -> str:
    """Return a page as HTML.

    - `made_from`: a fingerprint of all that the page shows.
    - `answers`: the summary's questions with their answers, a list for each column.
    - `pictures`: of the summary.
    - `callout`: a table below the summary that deserves attention; it is open if `urgent`.
    """
    return _rendered(
        "page.html",
        "report.js",
        _plotly(),
        title=title,
        sections=sections,
        description=description,
        made_from=made_from,
        answers=answers,
        summary=Section("summary", title, figures=pictures, tables=[callout] if callout else []),
        callout=callout,
        urgent=urgent,
        leaseboard=packages().get("leaseboard", ""),
        plotly=_packed_plotly(),
        most_rows=MOST_ROWS,
    )


def _rendered(template: str, script: str, *scripts: str, **content: Any) -> str:
    """Return a page under a policy by which its own script and `scripts` alone run."""
    style, code = ((Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
                   for name in ("report.css", script))  # fmt: skip
    return _environment().get_template(template).render(
        style=Markup(style),  # noqa: S704  (our own files)
        script=Markup(code),  # noqa: S704
        policy=content_security_policy([code, *scripts]),
        **content,
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
    environment.filters["packed"] = packed
    return environment


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script: str = get_plotlyjs()
    return script


@cache
def _packed_plotly() -> Packed:
    return packed_text(_plotly())


class Packed(str):
    """Text that is safe in HTML and about a third of its JSON's size."""

    __slots__ = ()


def packed(value: Any) -> Packed:
    """Return `value`, packed unless it is."""
    return value if isinstance(value, Packed) else packed_text(compact(value))


def packed_text(content: str) -> Packed:
    """Return text, packed; equal text gives equal bytes."""
    content_bytes = gzip.compress(content.encode(), compresslevel=9, mtime=0)
    return Packed(base64.b64encode(content_bytes).decode())


def unpacked(content: str) -> Any:
    """Return the inverse of `packed`."""
    return json.loads(gzip.decompress(base64.b64decode(content)))


PACKAGES = (
    "leaseboard", "numpy", "scipy", "pandas", "numba", "scikit-learn", "lightgbm", "hyperopt",
    "vowpalwabbit", "prefect", "mlflow", "plotly",
)  # fmt: skip


def packages() -> dict[str, str]:
    """Return versions of Python and of the installed packages that scores depend on."""
    return versions(PACKAGES)


_DRAWING = (
    "style-src 'unsafe-inline'",  # the page's own sheet; a chart sets the style of each element
    "img-src data: blob:",  # a chart that is saved as a picture
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
)


def content_security_policy(scripts: Iterable[str]) -> str:
    """Return the policy under which no script runs but `scripts`, each by its digest.

    Examples
    --------
    >>> content_security_policy(["alert(1)"])[:84]
    "default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(["default-src 'none'", f"script-src {hashes}", *_DRAWING])
