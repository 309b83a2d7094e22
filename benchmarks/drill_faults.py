"""The streams of the drill, day by day, and what goes wrong with a day's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.fetch.dataset import Dataset

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = ("bike", "electricity", "flights")


@dataclass(frozen=True)
class DailyStream:
    """A stream in its own order, cut into days."""

    frame: pd.DataFrame
    target: str
    numeric: str
    """A number that is there in every row: its unit is changed, its column renamed or gone."""
    rows: int
    """A day."""


def load(name: str, mirrors: Sequence[Path]) -> DailyStream:
    """Return a stream by its name here."""
    if name == "bike":
        frame = _features(loading.load("openml:42713", mirrors=tuple(mirrors)))
        return DailyStream(frame, "count", "temp", 24)
    if name == "electricity":
        frame = _features(loading.load("openml:151", mirrors=tuple(mirrors)))
        return DailyStream(frame.drop(columns=["date"]), "class", "nswdemand", 48)
    dataset = loading.load(
        "mirror:flights_3m?first_rows=1500000&threshold=15", mirrors=tuple(mirrors)
    )
    frame = _features(dataset).iloc[::75].reset_index(drop=True)
    return DailyStream(frame, dataset.target.name or "late", "distance", 100)


def _features(dataset: Dataset) -> pd.DataFrame:
    return dataset.features.assign(**{str(dataset.target.name): dataset.target})


@dataclass
class Inbox:
    """The folder that files are delivered to, day by day."""

    folder: Path
    stream: DailyStream
    start: int
    history: int
    """Days that the first file holds."""
    delivered: set[str] = field(default_factory=set)
    drifted: bool = False

    def day(self, number: int) -> pd.DataFrame:
        """Return the rows of a day, with an id and a time."""
        rows = self.stream.rows
        first = self.start + number * rows
        part = self.stream.frame.iloc[first : first + rows].reset_index(drop=True)
        times = [BEGIN + timedelta(days=number, hours=24 * i / rows) for i in range(len(part))]
        part.insert(0, "id", [f"r{first + i}" for i in range(len(part))])
        part.insert(1, "when", [f"{time:%Y-%m-%dT%H:%M:%S}" for time in times])
        if self.drifted:
            part[self.stream.target] = self.other_way(part[self.stream.target])
        return part

    def other_way(self, labels: pd.Series) -> pd.Series:
        """Return opposite labels: the other class, or the number mirrored at its middle."""
        known = self.stream.frame[self.stream.target]
        if isinstance(known.dtype, pd.CategoricalDtype):
            first, second = known.cat.categories
            return labels.astype(str).map({str(first): str(second), str(second): str(first)})
        middle = known.iloc[self.start : self.start + self.history * self.stream.rows].median()
        return 2 * middle - labels

    def deliver(self, frame: pd.DataFrame, name: str) -> Path:
        """Put a file there in one step."""
        path = self.folder / f"{name}.csv"
        frame.to_csv(path.with_suffix(".partial"), index=False)
        path.with_suffix(".partial").rename(path)
        self.delivered |= set(frame["id"])
        return path


Fix = Callable[[], None]


def _broken_column(
    inbox: Inbox, number: int, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> Fix:
    """Deliver a file with wrong columns; the next day the right one replaces it."""
    right = inbox.day(number)
    path = inbox.deliver(change(right), f"{number:03}")

    def fix() -> None:
        path.unlink()
        inbox.deliver(right, f"{number:03}-fixed")

    return fix


def renamed(inbox: Inbox, number: int) -> Fix:
    """Rename a column."""
    name = inbox.stream.numeric
    return _broken_column(inbox, number, lambda f: f.rename(columns={name: f"{name}_new"}))


def unit(inbox: Inbox, number: int) -> Fix:
    """Change a column's unit by 1,000."""
    name = inbox.stream.numeric
    return _broken_column(
        inbox, number, lambda f: f.assign(**{name: f[name].astype(float) * 1000})
    )


def gone(inbox: Inbox, number: int) -> Fix:
    """Remove a column."""
    return _broken_column(inbox, number, lambda f: f.drop(columns=inbox.stream.numeric))


def stale(inbox: Inbox, number: int) -> Fix:
    """Deliver the file of the day before again; the right one a day later."""
    inbox.deliver(inbox.day(number - 1), f"{number:03}")
    right = inbox.day(number)
    return lambda: (inbox.deliver(right, f"{number:03}-late"), None)[1]


def late_labels(inbox: Inbox, number: int) -> Fix:
    """Deliver the labels three days later, by id."""
    right, target = inbox.day(number), inbox.stream.target
    inbox.deliver(right.assign(**{target: None}), f"{number:03}")
    return lambda: (inbox.deliver(right[["id", target]], f"{number:03}-labels"), None)[1]


def flipped(inbox: Inbox, number: int) -> Fix:
    """Deliver opposite labels for a day."""
    frame, target = inbox.day(number), inbox.stream.target
    inbox.deliver(frame.assign(**{target: inbox.other_way(frame[target])}), f"{number:03}")
    return lambda: None


def drift(inbox: Inbox, number: int) -> Fix:
    """Deliver opposite labels from this day on."""
    inbox.drifted = not inbox.drifted
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


def twice(inbox: Inbox, number: int) -> Fix:
    """Deliver the day before again in another order, next to the day's own file."""
    inbox.deliver(inbox.day(number - 1)[::-1], f"{number:03}-again")
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


def as_usual(inbox: Inbox, number: int) -> Fix:
    """Deliver a good day's file."""
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


INCIDENTS: dict[str, tuple[Callable[[Inbox, int], Fix], set[str]]] = {
    "renamed column": (renamed, {"contract"}),
    "unit changed": (unit, {"contract"}),
    "column gone": (gone, {"contract"}),
    "stale file": (stale, {"stale", "repeated"}),
    "labels late": (late_labels, {"labels late"}),
    "labels flipped": (flipped, {"alarm"}),
    "drift": (drift, {"alarm"}),
    "day twice": (twice, {"repeated"}),
    "kill -9": (as_usual, {"update"}),
    "disk full": (as_usual, {"update"}),
}
"""Faults, and the kinds of incidents that report them."""
FIXED_AFTER = {"labels late": 3}
"""Days; else one."""
