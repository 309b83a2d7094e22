"""What all figures share: a plotly specification as plain data, colours, short numbers.

Specifications are made and tested here; the page's script only draws them. The tokens ``$ink``,
``$muted`` and ``$surface`` stand for colours of the theme, so that light and dark need one copy.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.configurations import Configuration, phrase

Trace = dict[str, Any]
PALETTE = (
    "#3b82c4", "#e07b22", "#2a9d6a", "#d1495b", "#8e6bbf",
    "#1fa3b5", "#b0892a", "#d76ba9", "#7a8b3c", "#9c6b4e",
)  # fmt: skip
"""Readable on light and on dark ground; taken in order, again from the start when used up."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A titled plotly figure; `note` says in one sentence how to read it.

    `log` names the axes that a reader may switch to a logarithmic scale (``x``, ``y``).
    """

    title: str
    note: str
    data: Sequence[Trace]
    layout: Mapping[str, Any]
    log: str = ""
    folded: str = ""
    """What a reader presses to see the figure; it is open if empty."""

    def payload(self) -> dict[str, Any]:
        """The figure as plain data for the page."""
        return {
            "title": self.title,
            "note": self.note,
            "data": list(self.data),
            "layout": dict(self.layout),
            "log": self.log,
            **({"folded": self.folded} if self.folded else {}),
        }


def colour(index: int, alpha: float = 1.0) -> str:
    """Colour number `index`; translucent for a band."""
    value = PALETTE[index % len(PALETTE)]
    if alpha >= 1:
        return value
    red, green, blue = (int(value[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def text(value: object) -> str:
    """`value` as plotly shows it literally: it would read ``<b>`` as markup."""
    return html.escape(str(value), quote=False)


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {"title": {"text": text(title)}, **more}


def line(
    index: int, label: str, x: NDArray[np.float64], y: NDArray[np.float64], *, dashed: bool = False
) -> Trace:
    """A curve in the colour of its place, which another trace of the same place shares."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text(label),
        "legendgroup": str(index),
        "x": rounded(x.tolist()),
        "y": rounded(y.tolist()),
        "line": {"color": colour(index), "width": 2, **({"dash": "dash"} if dashed else {})},
    }


def rounded(values: Iterable[float | None], digits: int = 5) -> list[float | int | None]:
    """Numbers short enough for a page: `digits` significant digits, None for NaN."""
    return [short_number(value, digits) for value in values]


def short_number(value: float | None, digits: int = 5) -> float | int | None:
    """One number with `digits` significant digits; whole numbers are written whole."""
    if value is None or not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 1e12:
        return int(value)
    return float(f"{value:.{digits}g}")


def thinned(count: int, most: int) -> list[int]:
    """At most `most` of the indices below `count`, evenly spread, the first and last kept."""
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def compact(value: Any) -> str:
    """JSON without spaces; NaN is an error, because a page could not read it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def name_of(number: int, parameters: Mapping[str, Any], limit: int = 48) -> str:
    """What a picture calls a configuration: its number and what sets it apart.

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
    """`name_of` every configuration, without the parameters that are the same in all."""
    listed = list(configurations)
    keys = {key for record in listed for key in record.parameters}
    telling = {
        key for key in keys if len({repr(record.parameters.get(key)) for record in listed}) > 1
    }
    return {
        record.configuration: name_of(
            record.configuration,
            {k: v for k, v in record.parameters.items() if k in telling or len(listed) == 1},
            limit,
        )
        for record in listed
    }
