"""What a page has: a section says its name, its text, its figures and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from tasks.report.cells import Cell
from tasks.report.draw.specs import Figure


@dataclass(frozen=True)
class Table:
    """A table that a reader can sort, under a heading of its own if it has a `title`."""

    id: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    _: KW_ONLY
    title: str = ""
    text: str = ""
    note: str = ""
    filters: str = ""
    """What a field above the table filters, if there are more than `few` rows; none if empty."""
    few: int = 8
    numeric_from: int = 1
    """The first of the columns that hold numbers."""
    key_column: int = 0
    """The column that names the row."""
    foot: Sequence[Cell] | None = None
    """A last row that is never sorted, called `foot_name`."""
    foot_name: str = ""
    tall: bool = False
    """It scrolls by itself rather than make the page long."""
    folded: str = ""
    """What a reader presses to see the table; it is open if empty."""


@dataclass(frozen=True)
class Section:
    """A section of the page: `text`, a paragraph each, then the figures, then the tables.

    One that looks otherwise inherits, and names a `template` that shows it.
    """

    template: ClassVar[str] = "section.html"

    id: str
    title: str
    _: KW_ONLY
    nav: str = ""
    """What the links on top call it; no link if empty."""
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()

    def data(self) -> Mapping[str, Any]:
        """What the page unpacks when it is looked at, by the id of its block."""
        return {f"{self.id}-{i}": figure.payload() for i, figure in enumerate(self.figures)}
