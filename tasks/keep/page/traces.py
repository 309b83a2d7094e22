"""Lines and bars over days, as plotly draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaseboard.tasks.keep.page.days import gapped
from leaseboard.tasks.report.draw.specs import Trace, axis, rounded, text

_DAY = 86_400_000
"""Milliseconds."""


def over_days(
    label: str,
    points: Mapping[str, float | None],
    width: int,
    paint: str,
    *,
    dash: str = "solid",
    thick: float = 1.6,
) -> Trace:
    """A line, broken where spans of `width` days are missing; a lone point is seen as a dot."""
    days, values = gapped(points, width)
    return {
        "type": "scatter",
        "mode": "lines" if len(points) > 2 and len(days) < 2 * len(points) else "lines+markers",
        "name": text(label),
        "x": days,
        "y": rounded(values, 4),
        "line": {"color": paint, "width": thick, "dash": dash},
        "marker": {"size": 5},
        "connectgaps": False,
    }


def level(value: float, days: Sequence[str], label: str) -> Trace:
    """A dashed line across, from the first of `days` to the last."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text(label),
        "x": [min(days), max(days)],
        "y": [value, value],
        "line": {"color": "$muted", "width": 1.2, "dash": "dash"},
        "hoverinfo": "skip",
    }


def bars(label: str, points: Mapping[str, float], width: int, paint: str) -> Trace:
    """A bar for each span of `width` days."""
    return {
        "type": "bar",
        "width": 0.8 * width * _DAY,
        "name": text(label),
        "x": list(points),
        "y": rounded(points.values()),
        "marker": {"color": paint},
    }


def layout(
    title: str, width: int, height: int = 340, y: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Axes of a figure over spans of `width` days."""
    return {
        "xaxis": axis("week" if width > 1 else "", type="date"),
        "yaxis": axis(title, **(y or {})),
        "height": height,
        "hovermode": "x unified",
        "barmode": "stack",
    }
