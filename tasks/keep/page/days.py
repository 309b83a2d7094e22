"""What forecasts cost by day: by week where days are many, with gaps where no label came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import TypeVar

from leaseboard.tasks.keep.losses import Sums, added, measures_of

MOST_DAYS = 120
"""That are drawn one by one."""

LATELY = timedelta(days=7)
"""The days that a summary speaks of."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Day:
    """What one lineage's forecasts of a day's rows cost."""

    day: str
    lineage: int
    rows: int
    sums: Sums


@dataclass(frozen=True, slots=True)
class Total:
    """What a lineage's forecasts of several days' rows cost."""

    rows: int = 0
    sums: Sums = field(default_factory=dict)

    def plus(self, day: Day) -> Total:
        """With one day more."""
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

    def by_span(self, lineages: Iterable[int], width: int = 0) -> dict[str, Total]:
        """Totals of days, or of spans of another `width`, by their first day."""
        chosen = set(lineages)
        return _summed((d for d in self.all if d.lineage in chosen), width or self.width)

    def served(self, reigns: Sequence[tuple[str, int]]) -> dict[str, Total]:
        """Totals of who was champion when a day began.

        `reigns`: when each began, and whose it was. Of days before the first, that of who was the
        first to forecast them.
        """
        days: dict[str, dict[int, Day]] = {}
        for day in self.all:
            days.setdefault(day.day, {})[day.lineage] = day
        chosen = []
        for name, told in days.items():
            there = [(since, number) for since, number in reigns if number in told]
            before = [number for since, number in there if since[:10] < name]
            chosen += [told[number] for number in (before[-1:] or [n for _, n in there[:1]])]
        return _summed(chosen, self.width)

    def lately(self, lineage: int) -> str:
        """The last day of a lineage's labels; empty if there is none."""
        return max((day.day for day in self.all if day.lineage == lineage), default="")

    def until(self, last: str, lineage: int) -> Total:
        """Of the `LATELY` days up to `last`."""
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
    """How many days are drawn as one."""
    return 7 if len(set(days)) > MOST_DAYS else 1


@cache
def span(day: str, width: int) -> str:
    """The first day of the span that a day is in; weeks begin on Mondays.

    Examples
    --------
    >>> span("2026-11-22", 7), span("2026-11-22", 1)
    ('2026-11-16', '2026-11-22')
    """
    if width == 1:
        return day
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()


def gapped(points: Mapping[str, Value], width: int) -> tuple[list[str], list[Value | None]]:
    """Calendar and values of a line that is broken where a span is missing.

    Examples
    --------
    >>> gapped({"2026-01-01": 1.0, "2026-01-04": 2.0}, 1)
    (['2026-01-01', '2026-01-02', '2026-01-04'], [1.0, None, 2.0])
    """
    days: list[str] = []
    values: list[Value | None] = []
    for day, value in points.items():
        if days:
            following = (date.fromisoformat(days[-1]) + timedelta(days=width)).isoformat()
            if following != day:
                days.append(following)
                values.append(None)
        days.append(day)
        values.append(value)
    return days, values
