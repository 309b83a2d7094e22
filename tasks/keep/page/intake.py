"""What came, what was rejected, what waits, how far inputs drifted, and what is kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from statistics import median

import pandas as pd

from leaseboard.tasks.keep.conform import AHEAD
from leaseboard.tasks.keep.page.days import bars, by_day, over_days, span, width_of
from leaseboard.tasks.keep.page.story import Story, moment
from leaseboard.tasks.keep.watch.signature import STEP, divided, shown, title_of
from leaseboard.tasks.report.charts import Figure, colour, plain
from leaseboard.tasks.report.page import Cell, Section, Table
from leaseboard.tasks.score.summary import short

MOST_ROWS = 200
MOST_LINES, MOST_ALARMS = 8, 200

COUNTS = {"new": "new rows", "labels": "labels", "repeated": "repeats", "aside": "set aside"}
"""What a batch counts, and what readers call it."""

KEPT = {
    "rows": "identities of rows, so that each is taken in once",
    "contents": "rows whose values are kept: those that wait, and the last ones",
    "aside": "rows set aside, with their reason",
    "batches": "batches",
    "days": "sums of losses, by day and lineage",
    "lineages": "lineages",
    "models": "models of lineages that live",
    "history": "what happened",
    "turns": "turns",
    "served": "forecasts that the server gave",
    "posted": "labels posted to the server, not taken in yet",
    "letters": "messages that nobody has taken yet",
    "memory": "values that the watch and the comparison remember",
}
"""What readers call the tables of `leaseboard.tasks.store.live_tables`."""


def asides(story: Story) -> Section:
    """Return rows that broke the contract, with the reason."""
    total = story.holds["aside"]
    if not total:
        text = ["No row has been set aside."]
        return Section("aside", "Rows set aside", nav="Set aside", text=text)
    batches = {each["number"]: each for each in story.batches}
    groups = Counter((each["batch"], each["reason"]) for each in story.asides)
    first = {(each["batch"], each["reason"]): each["id"] for each in story.asides}
    rows = [
        {
            "Came": batches[number]["at"][:10],
            "Batch": batches[number]["name"],
            "Reason": reason,
            "The first of them": first[number, reason],
            "Rows": count,
        }
        for (number, reason), count in list(groups.items())[:MOST_ROWS]
    ]
    width, arrived = _arrived(story)
    counted = {day: counts["aside"] for day, counts in arrived.items()}
    figure = by_day(
        f"Rows set aside by {'week' if width > 1 else 'day'}",
        "By the day on which they came.",
        [bars(COUNTS["aside"], counted, width, colour(3))], "rows", width, 260,
    )  # fmt: skip
    table = Table(
        "aside-table",
        "Rows set aside, by batch and reason, the newest first",
        pd.DataFrame(rows),
        text=f"{total:,} rows in all; of the last {len(story.asides):,}, the newest first, in at"
        f" most {MOST_ROWS} lines:",
        filters="rows set aside",
        key=2,
        tall=True,
    )
    return Section("aside", "Rows set aside", nav="Set aside", figures=[figure], tables=[table])


def categories(story: Story) -> Section | None:
    """Return the categories that the contract does not name; messages quote none of them."""
    seen = {column: names for column, names in story.lifecycle.new_categories.items() if names}
    if not seen:
        return None
    rows = [(column, ", ".join(names[-MOST_ROWS:])) for column, names in seen.items()]
    table = Table(
        "categories-table",
        "Categories that the contract does not name, the last of each column",
        pd.DataFrame(rows, columns=["Column", "Categories"]),
        text="Fix the source, or add them to the contract:",
    )
    return Section("categories", "New categories", tables=[table])


def waiting(story: Story) -> Section:
    """Return rows without their label, by their day."""
    total = sum(story.waiting.values())
    if not total:
        return Section("waiting", "Labels that wait", text=["Every row has its label."])
    oldest = min(story.waiting)
    age = (story.now.date() - date.fromisoformat(oldest)).days
    text = (
        f"{total:,} rows wait for their {story.keep.data.target}, the oldest since {oldest}"
        f" ({age} days); it usually comes after {story.keep.data.label_delay.days} days."
    )
    last = (story.now + AHEAD).date().isoformat()
    drawn = {day: count for day, count in story.waiting.items() if day <= last}
    if len(drawn) < len(story.waiting):
        text += f" {total - sum(drawn.values()):,} are dated after {last}, and not in the figure."
    width, points = width_of(drawn), Counter[str]()
    for day, count in drawn.items():
        points[span(day, width)] += count
    figure = by_day("Rows without a label", "By the day of the row.",
                    [bars("rows", points, width, colour(0))], "rows", width, 260)  # fmt: skip
    return Section("waiting", "Labels that wait", text=[text], figures=[figure])


def batches(story: Story) -> Section | None:
    """Return what each batch brought; None before the first."""
    if not story.batches:
        return None
    width, arrived = _arrived(story)
    found = {key: {day: counts[key] for day, counts in arrived.items()} for key in COUNTS}
    traces = [
        bars(COUNTS[key], points, width, colour(i))
        for i, (key, points) in enumerate(found.items())
        if key != "labels" and any(points.values())
    ]
    traces.append(over_days(COUNTS["labels"], found["labels"], width, "$ink"))
    figure = by_day(
        f"What came by {'week' if width > 1 else 'day'}", "By the day on which it came.", traces,
        "rows and labels", width,
    )  # fmt: skip
    rows = [
        {"Came (UTC)": moment(each["at"]), "Batch": each["name"]}
        | {name: each["counts"].get(key, 0) for key, name in COUNTS.items()}
        for each in story.batches[::-1][:MOST_ROWS]
    ]
    more = len(story.batches) - len(rows)
    table = Table(
        "batches-table",
        "Batches, the newest first",
        pd.DataFrame(rows),
        filters="batches",
        key=1,
        tall=True,
        note=f"{more:,} older batches are not listed." if more else "",
        folded=f"Batches ({len(story.batches):,})",
    )
    return Section("batches", "Batches", nav="Batches", figures=[figure], tables=[table])


def _arrived(story: Story) -> tuple[int, Mapping[str, Counter[str]]]:
    """Return the days that are drawn as one, and counts by day of arrival."""
    width, found = width_of(each["at"][:10] for each in story.batches), dict[str, Counter[str]]()
    for each in story.batches:
        found.setdefault(span(each["at"][:10], width), Counter()).update(each["counts"])
    return width, found


@dataclass(frozen=True)
class Watched:
    """Series that get their values together."""

    name: str
    days: list[str]
    values: Mapping[str, list[float]]
    alarmed: list[list[str]]

    def points(self, series: str) -> dict[str, float]:
        """Return the values that there are, by day."""
        pairs = zip(self.days, self.values.get(series, [math.nan] * len(self.days)), strict=True)
        return {day: shown(series, value) for day, value in pairs if not math.isnan(value)}

    def alarms(self) -> Iterator[tuple[str, str]]:
        """Yield day and series of each alarm."""
        for day, names in zip(self.days, self.alarmed, strict=True):
            for name in names:
                yield day, name


def drift(story: Story) -> Section | None:
    """Return a figure for each part, and a table of alarms; None before a day was seen."""
    monitored = story.lifecycle.monitored
    parts = [
        Watched(name, part.days, part.values, part.alarmed)
        for name, part in (("inputs", monitored.inputs), ("outcomes", monitored.outcomes))
        if part.days
    ]
    if not parts:
        return None
    alarms = sorted(((day, part, name) for part in parts for day, name in part.alarms()),
                    key=lambda each: each[0], reverse=True)  # fmt: skip
    text = "Nothing has alarmed on the days that the watch remembers."
    return Section(
        "watch",
        "Drift",
        nav="Drift",
        text=[] if alarms else [text],
        figures=[figure for part in parts if (figure := _distances(part)) is not None],
        tables=[_alarms(alarms[:MOST_ALARMS])] if alarms else [],
    )


def distances(points: Mapping[str, float]) -> dict[str, float]:
    """Return how far each value is from the median, in the median of these distances.

    Examples
    --------
    >>> distances({"2026-01-01": 1.0, "2026-01-02": 2.0, "2026-01-03": 7.0})
    {'2026-01-01': -1.0, '2026-01-02': 0.0, '2026-01-03': 5.0}
    """
    middle = median(points.values())
    away = {day: value - middle for day, value in points.items()}
    sizes = [abs(each) for each in away.values()]
    scale = median(sizes) or sum(sizes) / len(sizes)  # most days are alike: the mean of all
    return {day: each / scale for day, each in away.items()} if scale else dict.fromkeys(away, 0.0)


def _distances(part: Watched) -> Figure | None:
    """Return the series that alarmed or went furthest; None if all are constant."""
    names = [name for name in part.values if divided(name)[1] != STEP]
    found = {name: points for name in names if (points := part.points(name))}
    away = {name: distances(points) for name, points in found.items()}
    furthest = {name: max(map(abs, each.values())) for name, each in away.items()}
    alarms = Counter(name for _, name in part.alarms())
    moved = sorted((name for name in found if furthest[name]),
                   key=lambda name: (-alarms[name], -furthest[name]))[:MOST_LINES]  # fmt: skip
    if not moved:
        return None
    traces = [over_days(title_of(name), away[name], 1, colour(i)) for i, name in enumerate(moved)]
    for name, trace in zip(moved, traces, strict=True):
        values = plain(found[name].get(day) for day in trace["x"])
        trace |= {"customdata": values, "hovertemplate": "%{customdata}"}
    note = "How far a day's value is from the median of all days, in median distances from it;"
    note += " at a point stands the value itself."
    if len(found) > len(traces):
        note += f" The {len(traces)} of {len(found)} series that alarmed most or went furthest."
    return by_day(part.name.capitalize(), note, traces, "distance from usual")


def _alarms(alarms: list[tuple[str, Watched, str]]) -> Table:
    rows = []
    for day, part, name in alarms:
        points = part.points(name)
        usual = [value for other, value in points.items() if other < day]
        ends = f"{short(min(usual))} to {short(max(usual))}" if usual else "–"
        rows.append(
            {
                "Day": day,
                "Series": title_of(name),
                "Of": part.name,
                "Value": points.get(day, math.nan),
                "On the days before": Cell(ends),
            }
        )
    return Table(
        "alarms-table",
        "Alarms, the newest first",
        pd.DataFrame(rows),
        title="Alarms",
        text="Days that were unlike the days before, as far as the watch remembers."
        f" At most the last {MOST_ALARMS} alarms are listed.",
        filters="alarms",
        key=1,
        tall=True,
    )


def holdings(story: Story) -> Section:
    """Return how much of each is kept, and the size of all."""
    table = Table(
        "holdings-table",
        "How many of each are kept",
        pd.DataFrame({"What": KEPT.values(), "How many": [story.holds[name] for name in KEPT]}),
        folded="How many of each",
    )
    text = [f"The state takes {in_bytes(story.size)}."]
    return Section("holdings", "What is kept", text=text, tables=[table])


def in_bytes(size: int) -> str:
    """Return a size as people read it.

    Examples
    --------
    >>> in_bytes(1_540_000), in_bytes(800)
    ('1.5 MB', '800 bytes')
    """
    for unit, bytes_of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_of:
            return f"{size / bytes_of:.1f} {unit}"
    return f"{size} bytes"
