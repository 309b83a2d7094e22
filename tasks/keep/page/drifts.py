"""What the watch remembers: how far each of its series went from its usual, and what alarmed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from leaseboard.tasks.keep.page.story import Story
from leaseboard.tasks.keep.page.traces import layout, over_days
from leaseboard.tasks.keep.watch.signature import STEP, divided, shown, title_of
from leaseboard.tasks.keep.watching import WATCH
from leaseboard.tasks.report.draw.specs import Figure, Trace, colour, rounded
from leaseboard.tasks.report.section import Cell, Section, Table, number
from leaseboard.tasks.score.summary import short

MOST_LINES, MOST_ALARMS = 8, 200


@dataclass(frozen=True)
class Watched:
    """Series that get their values together."""

    name: str
    days: list[str]
    values: Mapping[str, list[float | None]]
    alarmed: list[list[str]]

    def points(self, series: str) -> dict[str, float]:
        """The values that there are, by day."""
        pairs = zip(self.days, self.values[series], strict=True)
        return {day: shown(series, value) for day, value in pairs if value is not None}

    def alarms(self) -> Iterator[tuple[str, str]]:
        """Day and series of each alarm."""
        for day, names in zip(self.days, self.alarmed, strict=True):
            for name in names:
                yield day, name


def watched(story: Story) -> list[Watched]:
    """All parts that have seen a day."""
    kept: Mapping[str, Any] = story.memory.get(WATCH, {})
    return [
        Watched(name, part["days"], part["values"], part["alarmed"])
        for name, part in kept.items()
        if part["days"]
    ]


def section(story: Story) -> Section | None:
    """A figure for each part, and a table of alarms; None before the watch has seen a day."""
    parts = watched(story)
    if not parts:
        return None
    figures = [figure for part in parts if (figure := _figure(part)) is not None]
    alarms = sorted(((day, part, name) for part in parts for day, name in part.alarms()),
                    key=lambda each: each[0], reverse=True)  # fmt: skip
    text = "" if alarms else "Nothing has alarmed on the days that the watch remembers."
    return Section(
        "watch",
        "Drift",
        nav="Drift",
        text=[text] if text else [],
        figures=figures,
        tables=[_table(alarms[:MOST_ALARMS])] if alarms else [],
    )


def distances(points: Mapping[str, float]) -> dict[str, float]:
    """How far each value is from the median, in the median of these distances; all if it is 0.

    Examples
    --------
    >>> distances({"2026-01-01": 1.0, "2026-01-02": 2.0, "2026-01-03": 7.0})
    {'2026-01-01': -1.0, '2026-01-02': 0.0, '2026-01-03': 5.0}
    """
    middle = median(points.values())
    away = {day: value - middle for day, value in points.items()}
    sizes = [abs(each) for each in away.values()]
    scale = median(sizes) or sum(sizes) / len(sizes)
    return {day: each / scale for day, each in away.items()} if scale else dict.fromkeys(away, 0.0)


def _figure(part: Watched) -> Figure | None:
    """Those that alarmed, and those that went furthest; None if all series are constant."""
    shown_names = [name for name in part.values if divided(name)[1] != STEP]
    found = {name: points for name in shown_names if (points := part.points(name))}
    away = {name: distances(points) for name, points in found.items()}
    furthest = {name: max(map(abs, each.values())) for name, each in away.items()}
    moved = [name for name in found if furthest[name]]
    if not moved:
        return None
    alarms = Counter(name for _, name in part.alarms())
    moved.sort(key=lambda name: (-alarms[name], -furthest[name]))
    traces = [_line(name, away[name], found[name], i) for i, name in enumerate(moved[:MOST_LINES])]
    note = "How far a day's value is from the median of all days, in median distances from it;"
    note += " at a point stands the value itself."
    if len(found) > len(traces):
        note += f" The {len(traces)} of {len(found)} series that alarmed most or went furthest."
    return Figure(part.name.capitalize(), note, traces, layout("distance from usual", 1, 300))


def _line(name: str, away: Mapping[str, float], points: Mapping[str, float], place: int) -> Trace:
    trace = over_days(title_of(name), away, 1, colour(place))
    values = rounded(points.get(day, math.nan) for day in trace["x"])
    return trace | {"customdata": values, "hovertemplate": "%{customdata}"}


def _table(alarms: list[tuple[str, Watched, str]]) -> Table:
    rows = []
    for day, part, name in alarms:
        points = part.points(name) if name in part.values else {}
        usual = [value for other, value in points.items() if other < day]
        ends = f"{short(min(usual))} to {short(max(usual))}" if usual else "–"
        value = points.get(day, math.nan)
        rows.append([Cell(day), Cell(title_of(name)), Cell(part.name), number(value), Cell(ends)])
    return Table(
        "alarms-table",
        "Alarms, the newest first",
        ["Day", "Series", "Of", "Value", "On the days before"],
        rows,
        title="Alarms",
        text="Days that were unlike the days before, as far as the watch remembers."
        f" At most the last {MOST_ALARMS} alarms are listed.",
        filters="alarms",
        numeric_from=3,
        key_column=1,
        tall=True,
    )
