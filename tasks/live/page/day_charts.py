"""Charts over days: by week if days are many, with gaps where no label came."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any

from leaseboard.tasks.live.record import LossTotal
from leaseboard.tasks.report.charts import MUTED, Figure, Trace, axis, chart, scatter
from leaseboard.tasks.report.page import Section

MOST_DAYS = 120
"""That are drawn one by one."""
FEW_DAYS = 7


def width_of(days: Iterable[str]) -> int:
    """Return how many days are drawn as one."""
    return 7 if len(set(days)) > MOST_DAYS else 1


@cache
def span(day: str, width: int) -> str:
    """Return the first day of the span that a day is in; weeks begin on Mondays.

    Examples
    --------
    >>> span("2026-11-22", 7), span("2026-11-22", 1)
    ('2026-11-16', '2026-11-22')
    """
    if width == 1:
        return day
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()


def by_span(days: Mapping[str, LossTotal], width: int) -> dict[str, LossTotal]:
    """Return totals of spans, by their first day."""
    found: dict[str, list[LossTotal]] = {}
    for day in sorted(days):
        found.setdefault(span(day, width), []).append(days[day])
    return {start: LossTotal.of(totals) for start, totals in found.items()}


def gapped(points: Mapping[str, float | None], width: int) -> tuple[list[str], list[float | None]]:
    """Return days and values of a line that is broken where a span is missing.

    Examples
    --------
    >>> gapped({"2026-01-01": 1.0, "2026-01-04": 2.0}, 1)
    (['2026-01-01', '2026-01-02', '2026-01-04'], [1.0, None, 2.0])
    """
    days: list[str] = []
    values: list[float | None] = []
    for day, value in points.items():
        if days:
            following = (date.fromisoformat(days[-1]) + timedelta(days=width)).isoformat()
            if following != day:
                days.append(following)
                values.append(None)
        days.append(day)
        values.append(value)
    return days, values


def over_days(
    label: str,
    points: Mapping[str, float | None],
    width: int,
    paint: str,
    *,
    dash: str = "solid",
    thick: float = 1.6,
    **more: Any,
) -> Trace:
    """Return a line, broken where spans of `width` days are missing; a lone point is a dot."""
    days, values = gapped(points, width)
    neighbours = zip([None, *values], values, [*values[1:], None], strict=False)
    alone = [before is None and after is None for before, _, after in neighbours]
    return scatter(
        label, days, values, paint, connectgaps=False,
        mode="lines+markers" if any(alone) else "lines",
        line={"width": thick, "dash": dash}, marker={"size": [5 * each for each in alone]}, **more,
    )  # fmt: skip


def level(value: float, days: Iterable[str], label: str) -> Trace:
    """Return a dashed line across, from the first of `days` to the last."""
    ends = sorted(days)
    line = {"width": 1.2, "dash": "dash"}
    return scatter(label, [ends[0], ends[-1]], [value] * 2, MUTED, line=line, hoverinfo="skip")


def day_chart(
    title: str,
    note: str,
    data: Sequence[Trace],
    y: str,
    width: int = 1,
    height: int = 300,
    **of_y: Any,
) -> Figure | None:
    """Return a figure over spans of `width` days, None for a single one.

    `of_y`: what its vertical axis has.
    """
    days = sorted({day for trace in data for day in trace["x"]})
    if len(days) < 2:
        return None
    across = axis("week" if width > 1 else "", type="date")
    if len(days) <= FEW_DAYS:  # else the axis would show hours
        across |= {"tickvals": days, "tickformat": "%b %-d"}
    return chart(title, note, data, across, axis(y, **of_y), height,
                 hovermode="x unified")  # fmt: skip


def day_section(
    name: str, title: str, *figures: Figure | None, text: Sequence[str] = (), **more: Any
) -> Section:
    """Return a section with the figures of two days or more; without any, a sentence says so."""
    drawn = [figure for figure in figures if figure is not None]
    text = text if drawn else [*text, "The chart begins with the second day."]
    return Section(name, title, text=text, figures=drawn, **more)
