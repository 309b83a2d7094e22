"""The monitor of a stream: the statistics of each day, unusual days, and drift.

Drift is a lasting change of a series, found by the cumulative sums of its standardised days.

Page's two cumulative sums (Biometrika, 1954) of ``z - K`` and ``-z - K``, where z is a day's
distance from the median of the days before in robust deviations, cut at `CAP`, so that one wild
day is not drift. The limit H comes from Siegmund's approximation (Sequential Analysis, 1985) of
the days between two false signals where days are independent and normal::

    (exp(b) - b - 1) / (2 K²) = QUIET_DAYS · series · sides,   b = 2 K (H + 1.166)

After a signal the days before the change are forgotten, so that a stream that moves for months
signals every few weeks, and a stream that moved once once.

River's detectors (ADWIN, Page-Hinkley, KSWIN) take single losses as independent, which losses of
one day are not, and ADWIN's state, compiled, cannot be written as JSON.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from leaseboard.tasks.live.day_statistics import (
    FLOORS,
    LEAST,
    NORMAL,
    ONE_SIDED,
    Numbers,
    Signature,
    divided,
    excess,
    is_far_above,
    new_usual,
    of_columns,
    of_errors,
    said,
    shown,
)

K = 0.5
"""Half the change, in deviations, that is looked for."""

CAP = 3.0
"""Deviations at which a day's distance is cut, so that one wild day is not drift."""

QUIET_DAYS = 365
"""Between two false signals, on all series together, if days were independent."""
WINDOW = 60
"""Days that a day is compared with."""

DRIFTS = ("missing", "middle", "other", "loss", "error", "disagreement")
"""Statistics that are monitored for lasting change."""

INPUTS, OUTCOMES = "inputs", "outcomes"
"""The parts of a `StreamMonitor`, by attribute: rows and predictions; labels and losses."""


@dataclass
class DriftSums:
    """Cumulative sums of a series.

    Attributes
    ----------
    up, down : float
        The two sums.
    up_days, down_days : int
        For how many days they have been above 0.
    known : int
        Days since the last change.
    """

    up: float = 0.0
    down: float = 0.0
    up_days: int = 0
    down_days: int = 0
    known: int = 0


def limit(series: int, sides: int) -> float:
    """Return the sum that is a signal.

    Examples
    --------
    >>> round(limit(1, 1), 1), round(limit(40, 2), 1)
    (4.1, 8.4)
    """
    wanted = 2 * K**2 * QUIET_DAYS * series * sides
    b = math.log(wanted)
    for _ in range(20):  # of b = log(wanted + b + 1), which contracts
        b = math.log(wanted + b + 1)
    return b / (2 * K) - 1.166


def days_of_drift(
    sums: DriftSums, before: Numbers, today: float, floor: float, most: float, *, both: bool
) -> int:
    """Add a day to `sums`; return for how many days it has drifted, 0 if it has not.

    `before` are the days before, `floor` is the least deviation of the series, `most` is the limit
    of a sum, and `both` whether a fall counts as well as a rise.
    """
    # Only the days since the last change are usual ones; NaN is a day without a value.
    known = before[len(before) - min(sums.known, len(before)) :]
    known = known[~np.isnan(known)]
    sums.known += 1
    if len(known) < LEAST or math.isnan(today):
        return 0
    middle = float(np.median(known))
    spread = max(NORMAL * float(np.median(np.abs(known - middle))), floor)
    if spread <= 0:
        return 0
    z = max(-CAP, min(CAP, (today - middle) / spread))
    sums.up = max(0.0, sums.up + z - K)
    sums.down = max(0.0, sums.down - z - K) if both else 0.0
    sums.up_days = sums.up_days + 1 if sums.up else 0
    sums.down_days = sums.down_days + 1 if sums.down else 0
    if max(sums.up, sums.down) <= most:
        return 0
    # The larger sum has been above 0 since the change: only these days are usual from now on.
    days = sums.up_days if sums.up > sums.down else sums.down_days
    sums.up = sums.down = 0.0
    sums.up_days = sums.down_days = 0
    sums.known = days
    return days


@dataclass(frozen=True)
class DayFinding:
    """Series that is unlike the days before, or has changed for good.

    Attributes
    ----------
    series : str
        Such as ``price: middle``.
    what : str
        One line for a person.
    """

    series: str
    what: str


@dataclass(frozen=True)
class DayReport:
    """Report on a day.

    Attributes
    ----------
    alarms : list of DayFinding
        Why it is unlike the days before, the strongest first: for a person.
    drift : list of DayFinding
        What has changed for good: for retraining.
    worse : list of DayFinding
        That its mean loss is far above the median of the days before: for a person. Labels of such
        a day are learned, unlike those of an alarming one.
    """

    alarms: list[DayFinding]
    drift: list[DayFinding]
    worse: list[DayFinding] = field(default_factory=list)


@dataclass
class BeforeLastDay:
    """State before the last day, for when more of that day comes."""

    sums: dict[str, DriftSums] = field(default_factory=dict)
    usual: dict[str, dict[str, float]] = field(default_factory=dict)
    drifted: set[str] = field(default_factory=set)
    """The series that have signalled on the last day already."""


@dataclass
class MonitoredDay:
    """Day of the series that get their values together."""

    day: str
    rows: int
    values: dict[str, float]
    """By series that has one."""
    alarmed: list[str] = field(default_factory=list)
    """The series that were alarming."""


@dataclass
class MonitoredDays:
    """Series that get their values together, over the last days.

    Attributes
    ----------
    days : list of MonitoredDay
    usual : dict of str to dict
        The usual shares of categories, by column.
    sums : dict of str to DriftSums
        By series.
    begun : BeforeLastDay
    """

    days: list[MonitoredDay] = field(default_factory=list)
    usual: dict[str, dict[str, float]] = field(default_factory=dict)
    sums: dict[str, DriftSums] = field(default_factory=dict)
    begun: BeforeLastDay = field(default_factory=BeforeLastDay)

    def add(
        self, day: str, columns: Iterable[tuple[str, pd.Series]], errors: Signature | None = None
    ) -> DayReport:
        """Add a day, or replace what came of it before; return the report on it."""
        columns, known = list(columns), [each.day for each in self.days]
        rows = len(columns[0][1])
        place = known.index(day) if day in known else len(known)
        is_last = place >= len(known) - 1
        if place == len(known):
            self.begun = BeforeLastDay(self.sums, self.usual)
        elif rows < self.days[place].rows:
            return DayReport([], [])  # the others are forgotten: these say less of the day
        else:
            del self.days[place]
        if is_last:
            self.sums = {name: replace(each) for name, each in self.begun.sums.items()}
            self.usual = dict(self.begun.usual)
        found = of_columns(columns, self.usual) | (errors or {})
        today = {name: float(f"{value:.6g}") for name, value in found.items()}
        frame = pd.DataFrame([*(each.values for each in self.days), today], dtype=np.float64)
        drifted = self._drift(day, frame) if is_last else []
        drifted = [each for each in drifted if each.series not in self.begun.drifted]
        self.begun.drifted |= {each.series for each in drifted}
        counts = [*(each.rows for each in self.days), rows]
        report = DayReport(self._alarms(frame, counts), drifted, _worse(frame, counts))
        for name, values in columns if is_last else ():
            usual = new_usual(values, self.usual.get(name))
            if usual is not None:
                self.usual[name] = usual
        values = {name: value for name, value in today.items() if not math.isnan(value)}
        alarmed = [alarm.series for alarm in report.alarms]
        self.days.insert(place, MonitoredDay(day, rows, values, alarmed))
        self._forget()
        return report

    def _alarms(self, frame: pd.DataFrame, rows: Sequence[int]) -> list[DayFinding]:
        if len(self.days) < LEAST:
            return []
        alarmed = np.array([[name in each.alarmed for name in frame] for each in self.days])
        far, found = excess(frame, rows, alarmed), []
        for i in np.argsort(-far, kind="stable"):
            if far[i] > 1:
                name, *there = frame.columns[i], *frame.iloc[:-1, i].dropna()
                low, high = sorted(shown(name, end) for end in (min(there), max(there)))
                what = (
                    f"{said(name)} is {shown(name, frame.iloc[-1, i]):.4g}, and was {low:.4g} to"
                    f" {high:.4g} on the {len(there)} days before"
                )
                found.append(DayFinding(name, what))
        return found

    def _drift(self, day: str, frame: pd.DataFrame) -> list[DayFinding]:
        names = [name for name in frame if divided(name)[1] in DRIFTS]
        most, found = limit(len(names), 2) if names else 0.0, []
        for name in names:
            statistic, values = divided(name)[1], frame[name].to_numpy()
            sums = self.sums.setdefault(name, DriftSums())
            floor, both = FLOORS.get(statistic, 0.0), statistic not in ONE_SIDED
            days = days_of_drift(sums, values[:-1], values[-1], floor, most, both=both)
            if days:
                days = min(days, len(self.days))
                since = [*(each.day for each in self.days), day][-days]
                now, earlier = shown(name, values[-1]), shown(name, np.nanmedian(values[:-days]))
                what = f"{said(name)} is {now:.4g}, and was about {earlier:.4g} before {since}"
                found.append(DayFinding(name, what))
        return found

    def _forget(self) -> None:
        del self.days[:-WINDOW]
        names = {name for each in self.days for name in each.values}
        columns = {divided(name)[0] for name in names}
        self.sums = {name: each for name, each in self.sums.items() if name in names}
        self.usual = {name: shares for name, shares in self.usual.items() if name in columns}


def _worse(frame: pd.DataFrame, rows: Sequence[int]) -> list[DayFinding]:
    found = []
    for name in frame.columns.intersection(["predictions: error", "predictions: loss"]):
        before, now = frame[name].iloc[:-1].dropna().to_numpy(), frame[name].iloc[-1]
        if is_far_above(before, now, FLOORS[divided(name)[1]], rows):
            usual, loss = shown(name, np.median(before)), shown(name, now)
            what = f"{said(name)} is {loss:.4g}, and was about {usual:.4g} before"
            found.append(DayFinding(name, what))
    return found


@dataclass
class StreamMonitor:
    """Monitor of a stream over the last `WINDOW` days; its size does not grow with rows or days.

    `observe` is called when rows come, `compare` when their labels come, both with a day each.
    A day that came before is given whole again when more of it has come: its point takes the place
    of the one before. Nothing is found in the first two weeks.

    Examples
    --------
    >>> monitor = StreamMonitor()
    >>> rng = np.random.default_rng(0)
    >>> for day in range(30):
    ...     x = pd.DataFrame({"x": rng.normal(5, 1, 50)})
    ...     report = monitor.observe(f"day {day}", x, x["x"])
    >>> report.alarms
    []
    >>> report = monitor.observe("day 30", x * 3, x["x"])
    >>> print(report.alarms[0].what)
    the median of x is 15.1, and was 4.636 to 5.279 on the 30 days before
    """

    inputs: MonitoredDays = field(default_factory=MonitoredDays)
    outcomes: MonitoredDays = field(default_factory=MonitoredDays)

    def observe(self, day: str, features: pd.DataFrame, predictions: pd.Series) -> DayReport:
        """Add the rows of a day, and the predictions of them.

        Parameters
        ----------
        day : str
        features : DataFrame
            Numbers, flags, categories or texts; dates are left out.
        predictions : Series
            Numbers, or classes as text.
        """
        columns = [(str(name), features[name]) for name in features]
        return self.inputs.add(day, [*columns, ("predictions", predictions)])

    def compare(
        self, day: str, labels: pd.Series, predictions: pd.Series | pd.DataFrame, losses: pd.Series
    ) -> DayReport:
        """Add the labels of a day, once they are known.

        Parameters
        ----------
        day : str
        labels : Series
            Numbers, or classes as text.
        predictions : Series or DataFrame
            Of the same rows: numbers, or the probabilities of classes, a column each.
        losses : Series
            For numbers the absolute errors; for classes 1 minus the probability of the label.
        """
        errors = of_errors(labels, predictions, losses)
        return self.outcomes.add(day, [("labels", labels)], errors)
