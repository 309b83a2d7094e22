"""The watch over a stream: what each day was like, whether that is new, whether it lasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from leaseboard.tasks.keep.watch import drift, novelty
from leaseboard.tasks.keep.watch.signature import (
    Signature,
    divided,
    new_usual,
    of_columns,
    of_errors,
    said,
    shown,
)

WINDOW = 60
"""Days that a day is set beside."""

DRIFTS = ("missing", "middle", "other", "loss", "error", "disagreement")
"""Statistics that are watched for lasting change."""

INPUTS, OUTCOMES = "inputs", "outcomes"


@dataclass(frozen=True)
class Noticed:
    """A series that is unlike the days before, or has changed for good.

    Attributes
    ----------
    series : str
        Such as ``price: middle``.
    what : str
        One line for a person.
    since : str
        The day on which it began.
    """

    series: str
    what: str
    since: str


@dataclass(frozen=True)
class Seen:
    """What a day was like.

    Attributes
    ----------
    alarms : list of Noticed
        Why it is unlike the days before, the strongest first: for a person.
    drift : list of Noticed
        What has changed for good: for retraining.
    series : dict of str to float
        Its numbers, for the page.
    worse : list of Noticed
        That its mean loss is far above the median of the days before: for a person. Labels of such
        a day are learned, unlike those of an alarming one.
    """

    alarms: list[Noticed]
    drift: list[Noticed]
    series: Signature
    worse: list[Noticed] = field(default_factory=list)


class StreamWatch:
    """What is remembered of the last `WINDOW` days; its size does not grow with rows or days.

    `observe` is called when rows come, `settle` when their labels come, both with a day at a time.
    A day that came before is given whole again when more of it has come: its point takes the place
    of the one before. Nothing is found in the first two weeks.

    Examples
    --------
    >>> watch = StreamWatch()
    >>> rng = np.random.default_rng(0)
    >>> for day in range(30):
    ...     x = pd.DataFrame({"x": rng.normal(5, 1, 50)})
    ...     seen = watch.observe(f"day {day}", x, x["x"])
    >>> seen.alarms
    []
    >>> seen = watch.observe("day 30", x * 3, x["x"])
    >>> print(seen.alarms[0].what)
    the median of x is 15.1, and was 4.636 to 5.279 on the 30 days before
    """

    def __init__(self) -> None:
        self._parts = {INPUTS: _Part(), OUTCOMES: _Part()}

    def observe(self, day: str, features: pd.DataFrame, forecasts: pd.Series) -> Seen:
        """The rows of a day, and what was forecast of them.

        Parameters
        ----------
        day : str
        features : DataFrame
            Numbers, flags, categories or texts; dates are left out.
        forecasts : Series
            Numbers, or classes as text.
        """
        columns = [(str(name), features[name]) for name in features]
        return self._parts[INPUTS].add(day, [*columns, ("forecasts", forecasts)])

    def settle(
        self,
        day: str,
        labels: pd.Series,
        forecasts: pd.Series | pd.DataFrame,
        losses: pd.Series,
    ) -> Seen:
        """The labels of a day, once they are known.

        Parameters
        ----------
        day : str
        labels : Series
            Numbers, or classes as text.
        forecasts : Series or DataFrame
            What was forecast of the same rows: numbers, or the probabilities of classes, a column
            each.
        losses : Series
            For numbers the absolute errors; for classes 1 minus the probability of the label.
        """
        errors = of_errors(labels, forecasts, losses)
        return self._parts[OUTCOMES].add(day, [("labels", labels)], errors)

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold, see `from_dict`."""
        return {name: part.to_dict() for name, part in self._parts.items()}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        """A watch that goes on exactly where the one that `to_dict` wrote stopped."""
        watch = cls()
        watch._parts = {name: _Part.from_dict(part) for name, part in kept.items()}
        return watch


@dataclass
class _Begun:
    """What there was before the last day, for when more of that day comes."""

    sums: dict[str, drift.Sums]
    usual: dict[str, dict[str, float]]
    drifted: set[str] = field(default_factory=set)
    """The series that have signalled on the last day already."""

    def new(self, found: Iterable[Noticed]) -> list[Noticed]:
        new = [each for each in found if each.series not in self.drifted]
        self.drifted |= {each.series for each in new}
        return new


class _Part:
    """Series that get their values together."""

    def __init__(self) -> None:
        self.days: list[str] = []
        self.rows: list[int] = []
        self.alarmed: list[list[str]] = []  # the series that were alarming, by day
        self.usual: dict[str, dict[str, float]] = {}
        self.values: dict[str, list[float]] = {}  # of the last days, NaN where there was none
        self.sums: dict[str, drift.Sums] = defaultdict(drift.Sums)
        self.begun = _Begun({}, {})

    def add(
        self, day: str, columns: Iterable[tuple[str, pd.Series]], errors: Signature | None = None
    ) -> Seen:
        columns = list(columns)
        rows = len(columns[0][1])
        place = self.days.index(day) if day in self.days else len(self.days)
        if place < len(self.days) and rows < self.rows[place]:
            return Seen([], [], {})  # the others are forgotten: these say less of the day
        is_last = place >= len(self.days) - 1
        if place == len(self.days):
            self.begun = _Begun({name: replace(s) for name, s in self.sums.items()}, self.usual)
        else:
            self._take_out(place)
        if is_last:
            self.sums = defaultdict(drift.Sums)
            self.sums |= {name: replace(s) for name, s in self.begun.sums.items()}
            self.usual = dict(self.begun.usual)
        told = of_columns(columns, self.usual) | (errors or {})
        today = {name: float(f"{value:.6g}") for name, value in told.items()}
        for name in today:
            self.values.setdefault(name, [np.nan] * len(self.days))
        drifted = self._drift(day, today) if is_last else []
        worse = self._worse(day, today, rows)
        seen = Seen(self._alarms(day, today, rows), self.begun.new(drifted), today, worse)
        for name, values in columns if is_last else ():
            usual = new_usual(values, self.usual.get(name))
            if usual is not None:
                self.usual[name] = usual
        self.days.insert(place, day)
        self.rows.insert(place, rows)
        self.alarmed.insert(place, [alarm.series for alarm in seen.alarms])
        for name, series in self.values.items():
            series.insert(place, today.get(name, np.nan))
        self._forget()
        return seen

    def _take_out(self, place: int) -> None:
        for each in (self.days, self.rows, self.alarmed, *self.values.values()):
            del each[place]

    def _alarms(self, day: str, today: Signature, rows: int) -> list[Noticed]:
        if len(self.days) < novelty.LEAST:
            return []
        names = list(self.values)
        before = np.array([self.values[name] for name in names]).T
        now = np.array([today.get(name, np.nan) for name in names])
        alarmed = np.array([[name in each for name in names] for each in self.alarmed])
        excess = novelty.excess(names, before, now, [*self.rows, rows], alarmed)
        alarming = [i for i in np.argsort(-excess, kind="stable") if excess[i] > 1]
        found = []
        for i in alarming:
            there = before[:, i][~np.isnan(before[:, i])]
            low, high = sorted(shown(names[i], end) for end in (there.min(), there.max()))
            what = (
                f"{said(names[i])} is {shown(names[i], now[i]):.4g}, and was {low:.4g} to"
                f" {high:.4g} on the {len(there)} days before"
            )
            found.append(Noticed(names[i], what, day))
        return found

    def _worse(self, day: str, today: Signature, rows: int) -> list[Noticed]:
        found = []
        for name in today.keys() & {"forecasts: error", "forecasts: loss"}:
            now, before = today[name], np.array(self.values[name])
            if novelty.is_far_above(
                before, now, novelty.FLOORS[divided(name)[1]], self.rows, rows
            ):
                usual, loss = (shown(name, each) for each in (float(np.nanmedian(before)), now))
                what = f"{said(name)} is {loss:.4g}, and was about {usual:.4g} before"
                found.append(Noticed(name, what, day))
        return found

    def _drift(self, day: str, today: Signature) -> list[Noticed]:
        names = [name for name in self.values if divided(name)[1] in DRIFTS]
        if not names:
            return []
        most = drift.limit(len(names), 2)
        found = []
        for name in names:
            _, statistic = divided(name)
            before, now = self.values[name], today.get(name, np.nan)
            floor = novelty.FLOORS.get(statistic, 0.0)
            both = statistic not in novelty.ONE_SIDED
            days = drift.days_of_drift(self.sums[name], before, now, floor, most, both=both)
            if days:
                days = min(days, len(self.days))
                since = [*self.days, day][-days]
                earlier = shown(name, float(np.nanmedian(before[: len(before) + 1 - days])))
                what = (
                    f"{said(name)} is {shown(name, now):.4g}, and was about {earlier:.4g} before"
                )
                found.append(Noticed(name, f"{what} {since}", since))
        return found

    def _forget(self) -> None:
        del self.days[:-WINDOW], self.rows[:-WINDOW], self.alarmed[:-WINDOW]
        for series in self.values.values():
            del series[:-WINDOW]
        gone = [name for name, series in self.values.items() if np.isnan(series).all()]
        for name in gone:
            del self.values[name]
            self.sums.pop(name, None)
        columns = {divided(name)[0] for name in self.values}
        self.usual = {name: shares for name, shares in self.usual.items() if name in columns}

    def to_dict(self) -> dict[str, Any]:
        return {
            "days": list(self.days),
            "rows": list(self.rows),
            "alarmed": [list(each) for each in self.alarmed],
            "usual": {name: dict(shares) for name, shares in self.usual.items()},
            "values": {
                name: [None if np.isnan(value) else value for value in series]
                for name, series in self.values.items()
            },
            "sums": {name: asdict(sums) for name, sums in self.sums.items()},
            "begun": {
                "sums": {name: asdict(sums) for name, sums in self.begun.sums.items()},
                "usual": {name: dict(shares) for name, shares in self.begun.usual.items()},
                "drifted": sorted(self.begun.drifted),
            },
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> _Part:
        part = cls()
        part.days, part.rows = list(kept["days"]), list(kept["rows"])
        part.alarmed = [list(each) for each in kept["alarmed"]]
        part.usual = {name: dict(shares) for name, shares in kept["usual"].items()}
        part.values = {
            name: [np.nan if value is None else value for value in series]
            for name, series in kept["values"].items()
        }
        part.sums.update({name: drift.Sums(**sums) for name, sums in kept["sums"].items()})
        begun = kept["begun"]
        part.begun = _Begun(
            {name: drift.Sums(**sums) for name, sums in begun["sums"].items()},
            {name: dict(shares) for name, shares in begun["usual"].items()},
            set(begun["drifted"]),
        )
        return part
