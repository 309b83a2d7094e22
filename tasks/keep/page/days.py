"""Losses by day, and charts over days: by week if days are many, with gaps where no label came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Any

from leaseboard.tasks.keep.losses import Sums, added, measures_of
from leaseboard.tasks.report.charts import Figure, Trace, axis, bar, chart, scatter

MOST_DAYS = 120
"""That are drawn one by one."""

LATELY = timedelta(days=7)
"""The days that a summary speaks of."""

_MILLISECONDS = 86_400_000
"""Of a day."""


@dataclass(frozen=True, slots=True)
class Day:
    """What one lineage's predictions of a day's rows cost."""

    day: str
    lineage: int
    rows: int
    sums: Sums


@dataclass(frozen=True, slots=True)
class Total:
    """What a lineage's predictions of several days' rows cost."""

    rows: int = 0
    sums: Sums = field(default_factory=dict)

    def plus(self, day: Day) -> Total:
        """Return it with one day more."""
        return Total(self.rows + day.rows, added(self.sums, day.sums))

    @property
    def measures(self) -> dict[str, float]:
        """See `leaseboard.tasks.keep.losses.measures_of`."""
        return measures_of(self.sums, self.rows)


class Calendar:
    """All days with labels."""

    def __init__(self, days: Sequence[Day]) -> None:
        self.all = [day for day in days if day.rows]
        self.width = width_of(day.day for day in self.all)

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def is_regression(self) -> bool:
        """Whether labels are numbers."""
        return any("absolute" in day.sums for day in self.all[:1])

    @property
    def measure(self) -> str:
        """The root of what comparisons go by, in the unit of the target; of classes Brier."""
        return "rmse" if self.is_regression else "brier"

    def by_span(self, lineage: int, width: int = 0) -> dict[str, Total]:
        """Return totals of days, or of spans of another `width`, by their first day."""
        return _summed((d for d in self.all if d.lineage == lineage), width or self.width)

    def served(self, reigns: Sequence[tuple[str, int]]) -> dict[str, Total]:
        """Return totals of who was champion when a day began.

        `reigns`: when each began, and whose it was. Of days before the first, that of who was the
        first to predict them.
        """
        days: dict[str, dict[int, Day]] = {}
        for day in self.all:
            days.setdefault(day.day, {})[day.lineage] = day
        chosen = []
        for name, found in days.items():
            there = [(since, number) for since, number in reigns if number in found]
            before = [number for since, number in there if since[:10] < name]
            chosen += [found[number] for number in (before[-1:] or [n for _, n in there[:1]])]
        return _summed(chosen, self.width)

    def lately(self, lineage: int) -> str:
        """Return the last day of a lineage's labels; empty if there is none."""
        return max((day.day for day in self.all if day.lineage == lineage), default="")

    def until(self, last: str, lineage: int) -> Total:
        """Return the total of the `LATELY` days up to `last`."""
        first = (date.fromisoformat(last) - LATELY).isoformat()
        total = Total()
        for day in self.all:
            if day.lineage == lineage and first < day.day <= last:
                total = total.plus(day)
        return total


def _summed(days: Iterable[Day], width: int) -> dict[str, Total]:
    found: dict[str, Total] = {}
    for day in days:
        start = span(day.day, width)
        found[start] = found.get(start, Total()).plus(day)
    return dict(sorted(found.items()))


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
    return scatter(
        label, days, values, paint, connectgaps=False,
        mode="lines" if len(points) > 2 and len(days) < 2 * len(points) else "lines+markers",
        line={"width": thick, "dash": dash}, marker={"size": 5}, **more,
    )  # fmt: skip


def level(value: float, days: Iterable[str], label: str) -> Trace:
    """Return a dashed line across, from the first of `days` to the last."""
    ends = sorted(days)
    line = {"width": 1.2, "dash": "dash"}
    return scatter(label, [ends[0], ends[-1]], [value] * 2, "$muted", line=line, hoverinfo="skip")


def bars(label: str, points: Mapping[str, float], width: int, paint: str) -> Trace:
    """Return a bar for each span of `width` days."""
    return bar(label, points, points.values(), paint, width=0.8 * width * _MILLISECONDS)


def by_day(
    title: str,
    note: str,
    data: Sequence[Trace],
    y: str,
    width: int = 1,
    height: int = 300,
    *,
    log: str = "",
    **of_y: Any,
) -> Figure:
    """Return a figure over spans of `width` days; `of_y`: what its vertical axis has."""
    across = axis("week" if width > 1 else "", type="date")
    return chart(title, note, data, across, axis(y, **of_y), height, log=log,
                 hovermode="x unified", barmode="stack")  # fmt: skip
