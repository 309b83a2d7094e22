"""One figure with a panel for each data set, all with the same kind of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaseboard.tasks.report.draw.specs import Trace, axis, text

COLUMNS = 3
GAP = 0.09
ROW_HEIGHT = 270
LEAST_WIDTH = 260
"""Pixels of a panel; where there are fewer, the page scrolls the figure."""


def layout(
    titles: Sequence[str], x: Mapping[str, Any], y: Mapping[str, Any], x_title: str, y_title: str
) -> dict[str, Any]:
    """Axes and headings of panels, row by row, `COLUMNS` in a row.

    - `titles`: of the panels.
    - `x`, `y`: what all horizontal and all vertical axes have in common, such as ``{"type":
      "log"}``; the vertical ones share their range, so that panels can be compared.
    - `x_title`, `y_title`: written at the lowest panel of a column, and at the first of a row.
    """
    columns = min(COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    made: dict[str, Any] = {
        "height": ROW_HEIGHT * rows + 60,
        "meta": {"minWidth": LEAST_WIDTH * columns},
        "annotations": [],
    }
    for index, title in enumerate(titles):
        row, column = divmod(index, columns)
        left, right = _domain(column, columns)
        bottom, top = _domain(rows - 1 - row, rows)
        name = suffix(index)
        lowest = index + columns >= len(titles)
        made[f"xaxis{name}"] = {
            **axis(x_title if lowest else "", **x), "domain": [left, right], "anchor": f"y{name}",
        }  # fmt: skip
        made[f"yaxis{name}"] = {
            **axis(y_title if not column else "", **y), "domain": [bottom, top],
            "anchor": f"x{name}", **({"matches": "y"} if index else {}),
        }  # fmt: skip
        made["annotations"].append(
            {
                "text": text(title), "x": left, "y": top, "xref": "paper", "yref": "paper",
                "xanchor": "left", "yanchor": "bottom", "showarrow": False,
            }
        )  # fmt: skip
    return made


def placed(trace: Trace, panel: int) -> Trace:
    """`trace` in panel number `panel`."""
    return {**trace, "xaxis": f"x{suffix(panel)}", "yaxis": f"y{suffix(panel)}"}


def suffix(panel: int) -> str:
    """What plotly appends to the names of the axes of panel number `panel`."""
    return str(panel + 1) if panel else ""


def _domain(place: int, places: int) -> tuple[float, float]:
    gap = GAP if places > 1 else 0.0
    size = (1 - gap * (places - 1)) / places
    start = place * (size + gap)
    return round(start, 4), round(min(1.0, start + size), 4)
