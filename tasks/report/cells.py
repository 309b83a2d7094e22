"""A table cell: what is read, and what it is sorted by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.score.summary import fixed, short

Names = Mapping[str, str]
"""What a suite calls its data sets, by reference."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: what is read, what it is sorted by, and a class for emphasis."""

    text: str
    value: float | str = ""
    kind: str = ""
    hint: str = ""


def number(value: float, digits: int = 4, kind: str = "", hint: str = "") -> Cell:
    """A number as a cell; NaN sorts last."""
    return Cell(short(value, digits), value if math.isfinite(value) else "", kind, hint)


def named(data: str, names: Names) -> str:
    """What tables call a data set: the suite's name for it, or the reference."""
    return names.get(data, data)


def data_cell(data: str, names: Names) -> Cell:
    """A data set's name; its reference is the hint."""
    name = named(data, names)
    return Cell(name, name, hint="" if name == data else data)


def finite(value: float) -> float | str:
    """A number to sort by; nothing, which sorts last, for NaN."""
    return value if math.isfinite(value) else ""


def spread(value: float, sd: float | None, decimals: int) -> str:
    """A mean with its standard deviation, if there is one."""
    if sd is None or not math.isfinite(sd):
        return fixed(value, decimals)
    return f"{fixed(value, decimals)} ± {fixed(sd, decimals)}"
