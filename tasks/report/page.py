"""The engine of all pages: tables, sections, and one file that opens offline and calls nobody.

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
from leaseboard.tasks.score.summary import fixed, short

Names = Mapping[str, str]
"""What a suite calls its datasets, by reference."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: what is read, what it is sorted by, and a class for emphasis."""

    text: str
    value: float | str = ""
    kind: str = ""
    hint: str = ""
    link: str = ""


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
    """Return what tables call a dataset: the suite's name for it; its reference is the hint."""
    name = names.get(data, data)
    return Cell(name, name, hint="" if name == data else data)


@dataclass(frozen=True)
class Table:
    """A table that a reader can sort, under a heading of its own if it has a `title`."""

    id: str
    caption: str
    frame: pd.DataFrame
    """Its columns and rows; see `cell` for what a value becomes."""
    _: KW_ONLY
    title: str = ""
    text: str = ""
    note: str = ""
    filters: str = ""
    """What a field above the table filters, if there are more than `few` rows; none if empty."""
    few: int = 8
    pick: str = ""
    """A column of which a reader may pick a value."""
    key: int = 0
    """The column that names the row."""
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
        """Which columns hold numbers."""
        columns = zip(*self.rows, strict=True)
        return [all(not isinstance(each.value, str) or each.value == "" for each in column)
                for column in columns] or [False] * len(self.columns)  # fmt: skip

    @property
    def choices(self) -> list[str]:
        """The values of the column `pick`."""
        place = self.columns.index(self.pick)
        return sorted({row[place].text for row in self.rows})


@dataclass(frozen=True)
class Section:
    """A section of a page: `text`, then the figures, then the tables."""

    id: str
    title: str
    _: KW_ONLY
    nav: str = ""
    """What the links on top call it; no link if empty."""
    callout: str = ""
    text: Sequence[str] = ()
    """A paragraph each; markup is shown as it is."""
    figures: Sequence[Figure] = ()
    choices: Sequence[str] = ()
    """The figures' labels, if a reader picks one of them at a time."""
    tables: Sequence[Table] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else the page unpacks when it is looked at, by the id of its block."""

    def data(self) -> Mapping[str, Any]:
        """Return all that the page unpacks, by the id of its block."""
        figures = {f"{self.id}-{i}": figure.payload() for i, figure in enumerate(self.figures)}
        return figures | dict(self.more)


def page_of(
    title: str,
    sections: Sequence[Section],
    *,
    made_from: str = "",
    description: str = "",
    home: str = "",
    answers: Sequence[Sequence[tuple[str, str]]] = (),
    pictures: Sequence[Figure] = (),
    callout: Table | None = None,
    urgent: bool = False,
) -> str:
    """Return a page as HTML.

    - `made_from`: a stamp of all that the page shows.
    - `home`: the address of the site that the page is of, if it is of one.
    - `answers`: the summary's questions with their answers, a list for each column.
    - `pictures`: of the summary.
    - `callout`: a table below the summary that deserves attention; it is open if `urgent`.
    """
    script, plotly = static("report.js"), _plotly()
    return _environment().get_template("page.html").render(
        title=title,
        sections=sections,
        description=description,
        made_from=made_from,
        home=home,
        answers=answers,
        summary=Section("summary", title, figures=pictures),
        callout=callout,
        urgent=urgent,
        leaseboard=packages().get("leaseboard", ""),
        style=Markup(static("report.css")),  # noqa: S704  (our own files)
        script=Markup(script),  # noqa: S704
        plotly=_packed_plotly(),
        policy=content_security_policy([script, plotly]),
    )  # fmt: skip


def index_of(**content: Any) -> str:
    """Return the index of a site as HTML; `content`: what its template asks for."""
    script = static("site.js")
    return _environment().get_template("site.html").render(
        style=Markup(static("report.css")),  # noqa: S704  (our own files)
        script=Markup(script),  # noqa: S704
        policy=content_security_policy([script]),
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
def _packed_plotly() -> str:
    return packed_text(_plotly())


def static(name: str) -> str:
    """Return a file of ours that a page holds."""
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")


def packed(value: Any) -> str:
    """Return `value` as text that is safe in HTML and about a third of its JSON's size."""
    return packed_text(compact(value))


def packed_text(content: str) -> str:
    """Return text, packed; equal text gives equal bytes."""
    return base64.b64encode(gzip.compress(content.encode(), compresslevel=6, mtime=0)).decode()


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
