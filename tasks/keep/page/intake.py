"""What came: rows by day of arrival, rows set aside with their reasons, labels that wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date

from leaseboard.tasks.keep.conform import AHEAD
from leaseboard.tasks.keep.page.days import span, width_of
from leaseboard.tasks.keep.page.story import Story
from leaseboard.tasks.keep.page.traces import bars, layout, over_days
from leaseboard.tasks.keep.turn import CATEGORIES
from leaseboard.tasks.report.draw.specs import Figure, colour
from leaseboard.tasks.report.section import Cell, Section, Table

MOST_ROWS = 200

COUNTS = {"new": "new rows", "labels": "labels", "repeated": "repeats", "aside": "set aside"}
"""What a batch counts, and what readers call it."""


def asides(story: Story) -> Section:
    """Rows that broke the contract, with the reason."""
    total = story.holds["aside"]
    if not total:
        text = ["No row has been set aside."]
        return Section("aside", "Rows set aside", nav="Set aside", text=text)
    batches = {each["number"]: each for each in story.batches}
    groups = Counter((each["batch"], each["reason"]) for each in story.asides)
    first = {(each["batch"], each["reason"]): each["id"] for each in story.asides}
    rows = [
        [
            Cell(batches[number]["at"][:10]),
            Cell(batches[number]["name"]),
            Cell(reason),
            Cell(first[number, reason]),
            _counted(count),
        ]
        for (number, reason), count in list(groups.items())[:MOST_ROWS]
    ]
    counted = {day: counts["aside"] for day, counts in _arrived(story).items()}
    width = _width(story)
    figure = Figure(
        f"Rows set aside by {'week' if width > 1 else 'day'}",
        "By the day on which they came.",
        [bars(COUNTS["aside"], counted, width, colour(3))],
        layout("rows", width, 260),
    )
    told = f"{total:,} rows in all; of the last {len(story.asides):,}, the newest first"
    told += f", in at most {MOST_ROWS} lines:"
    table = Table(
        "aside-table",
        "Rows set aside, by batch and reason, the newest first",
        ["Came", "Batch", "Reason", "The first of them", "Rows"],
        rows,
        text=told,
        filters="rows set aside",
        numeric_from=4,
        key_column=2,
        tall=True,
    )
    return Section("aside", "Rows set aside", nav="Set aside", figures=[figure], tables=[table])


def categories(story: Story) -> Section | None:
    """Return the categories that the contract does not name; messages quote none of them."""
    seen = {column: names for column, names in story.memory.get(CATEGORIES, {}).items() if names}
    if not seen:
        return None
    table = Table(
        "categories-table",
        "Categories that the contract does not name, the last of each column",
        ["Column", "Categories"],
        [[Cell(column), Cell(", ".join(names[-MOST_ROWS:]))] for column, names in seen.items()],
        text="Fix the source, or add them to the contract:",
    )
    return Section("categories", "New categories", tables=[table])


def waiting(story: Story) -> Section:
    """Rows without their label, by their day."""
    total = sum(story.waiting.values())
    delay = story.keep.data.label_delay.days
    if not total:
        return Section("waiting", "Labels that wait", text=["Every row has its label."])
    oldest = min(story.waiting)
    age = (story.now.date() - date.fromisoformat(oldest)).days
    text = (
        f"{total:,} rows wait for their {story.keep.data.target}, the oldest since {oldest}"
        f" ({age} days); it usually comes after {delay} days."
    )
    last = (story.now + AHEAD).date().isoformat()
    shown = {day: count for day, count in story.waiting.items() if day <= last}
    if len(shown) < len(story.waiting):
        text += f" {total - sum(shown.values()):,} are dated after {last}, and not in the figure."
    width = width_of(shown)
    points: dict[str, float] = {}
    for day, count in shown.items():
        points[span(day, width)] = points.get(span(day, width), 0) + count
    figure = Figure(
        "Rows without a label",
        "By the day of the row.",
        [bars("rows", points, width, colour(0))],
        layout("rows", width, 260),
    )
    return Section("waiting", "Labels that wait", text=[text], figures=[figure])


def batches(story: Story) -> Section | None:
    """What each batch brought; None before the first."""
    if not story.batches:
        return None
    width, arrived = _width(story), _arrived(story)
    found = {key: {day: counts[key] for day, counts in arrived.items()} for key in COUNTS}
    shown = [
        bars(COUNTS[key], points, width, colour(i))
        for i, (key, points) in enumerate(found.items())
        if key != "labels" and any(points.values())
    ]
    shown.append(over_days(COUNTS["labels"], found["labels"], width, "$ink"))
    figure = Figure(
        f"What came by {'week' if width > 1 else 'day'}",
        "By the day on which it came.",
        shown,
        layout("rows and labels", width, 300),
    )
    rows = [
        [
            Cell(each["at"][:16].replace("T", " "), each["at"]),
            Cell(each["name"]),
            *(_counted(each["counts"].get(key, 0)) for key in COUNTS),
        ]
        for each in story.batches[::-1][:MOST_ROWS]
    ]
    more = len(story.batches) - len(rows)
    table = Table(
        "batches-table",
        "Batches, the newest first",
        ["Came (UTC)", "Batch", *COUNTS.values()],
        rows,
        filters="batches",
        numeric_from=2,
        key_column=1,
        tall=True,
        note=f"{more:,} older batches are not listed." if more else "",
        folded=f"Batches ({len(story.batches):,})",
    )
    return Section("batches", "Batches", nav="Batches", figures=[figure], tables=[table])


def _counted(count: int) -> Cell:
    return Cell(f"{count:,}", count)


def _width(story: Story) -> int:
    return width_of(each["at"][:10] for each in story.batches)


def _arrived(story: Story) -> Mapping[str, Counter[str]]:
    """Counts by day of arrival."""
    width, found = _width(story), dict[str, Counter[str]]()
    for each in story.batches:
        day = span(each["at"][:10], width)
        found.setdefault(day, Counter()).update(each["counts"])
    return found
