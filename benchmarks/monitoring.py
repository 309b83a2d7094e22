"""False alarms of a live model's monitor on clean days, and what it notices on the same day.

``python -m benchmarks.monitoring --mirror DIR [--streams bike ...] [--replays 20]
[--predictions DIR]``
replays 60 days of real streams in the order of time, begun at places spread over them, with
predictions that `chacha` made of each row before it learned it. It prints a line a stream:

- days that alarm, and incidents reported, in 60 clean days: mean and most; nothing is found in the
  first two weeks, and days that are judged are counted
- signals of drift in 60 clean days, and of River's detectors on the same losses
- the same of days whose order was drawn, where nothing drifts
- the share of faults, each put into one day drawn after the second week, noticed on that day
- the error of the loss of a day, absolute or Brier, that is estimated a week before its labels
  come, and on how many days the estimate would be above all days with labels: clean days, and
  days of which a column was lost or is ten times as large
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from river import drift as detectors

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.live.drift.day_statistics import is_number
from leaseboard.tasks.live.drift.monitor import DayReport, StreamMonitor
from leaseboard.tasks.live.drift.unusual_days import LEAST
from leaseboard.tasks.live.estimation import LossModel
from leaseboard.tasks.live.incidents import Case, Incident, reconcile
from leaseboard.tasks.models.stream_model import PROBABILITY, StreamModel

LENGTH = 60
LATE = 7


@dataclass(frozen=True)
class StreamKind:
    """Stream of a dataset: its reference, how many rows are taken, and the day of each."""

    reference: str
    target: str
    every: int
    day: Callable[[pd.DataFrame], Any]
    late: float | None = None
    """Labels from here on are ``late``, and the others ``in time``."""


def _changes(frame: pd.DataFrame, *names: str) -> Any:
    """Return where values of `names` change: rows with one value in sequence are one day."""
    now = frame[list(names)].astype(str)
    return (now != now.shift()).any(axis=1).cumsum().to_numpy()


def _flown(frame: pd.DataFrame) -> Any:
    return _changes(frame, "month", "day")


STREAMS = {
    "bike": StreamKind("mirror:42713", "count", 1, lambda x: _changes(x, "month", "weekday")),
    "electricity": StreamKind("mirror:151", "class", 1, lambda x: np.arange(len(x)) // 48),
    "delays": StreamKind("mirror:flights_3m", "delay", 30, _flown),
    "late": StreamKind("mirror:flights_3m", "delay", 30, _flown, 15),
}


@dataclass(frozen=True)
class MonitoredDay:
    """The rows of a day, with what was predicted of them and came."""

    features: pd.DataFrame
    labels: pd.Series
    predictions: pd.Series
    losses: pd.Series
    sure: pd.Series
    """The predictions of numbers; of classes the probability of the one that was predicted."""
    reported: pd.Series | pd.DataFrame
    """The predictions of numbers; of classes the probability of each."""


def days_of(kind: StreamKind, mirror: Path, kept: Path | None = None) -> list[MonitoredDay]:
    """Return all days of a stream; its predictions are kept in a file if one is named."""
    frame = loading.load(kind.reference, mirrors=(mirror,)).features
    labels = loading.load(kind.reference, mirrors=(mirror,)).target
    frame = frame.iloc[:: kind.every].reset_index(drop=True)
    labels = labels.iloc[:: kind.every].reset_index(drop=True).rename(kind.target)
    if kind.late is not None:
        labels = pd.Series(np.where(labels >= kind.late, "late", "in time"), name=kind.target)
    if not is_number(labels):
        labels = labels.astype(str).astype(object)
    if kept is not None and kept.exists():
        reported = pd.read_parquet(kept)
    else:
        reported = _reported(frame, labels, kind.day(frame))
        if kept is not None:
            reported.to_parquet(kept)
    rows = pd.Series(kind.day(frame)).groupby(kind.day(frame)).groups.values()
    shares = reported[[name for name in reported if name.startswith(PROBABILITY)]]
    shares.columns = shares.columns.str.removeprefix(PROBABILITY)
    whole = reported["prediction"] if shares.empty else shares
    first, losses, sure = (reported[name] for name in ("prediction", "loss", "sure"))
    return [
        MonitoredDay(
            frame.loc[i], labels.loc[i], first.loc[i], losses.loc[i], sure.loc[i], whole.loc[i]
        )
        for i in rows
    ]


def _reported(frame: pd.DataFrame, labels: pd.Series, day: Any) -> pd.DataFrame:
    """Return what was predicted of each day before the labels of a week ago were learned."""
    table = pd.concat([frame, labels], axis=1)
    model = StreamModel.for_table(table, str(labels.name))
    days = [rows.reset_index(drop=True) for _, rows in table.groupby(day)]
    found = []
    for number, rows in enumerate(days):
        came, predictions = rows[labels.name], pd.Series(model.predict(rows))
        if model.is_regression:
            each = {
                "prediction": predictions,
                "sure": predictions,
                "loss": (predictions - came).abs(),
            }
        else:
            names = [f"{PROBABILITY}{name}" for name in model.classes]
            reported = pd.DataFrame(model.predict_proba(rows), columns=names)
            each = {
                "prediction": predictions.astype(str),
                "sure": _shares(reported, predictions),
                "loss": 1 - _shares(reported, came),
                **{name: reported[name] for name in reported if name.startswith(PROBABILITY)},
            }
        found.append(pd.DataFrame(each))
        if number >= LATE:
            model.learn_table(days[number - LATE])
    return pd.concat(found, ignore_index=True)


def _shares(reported: pd.DataFrame, classes: pd.Series) -> pd.Series:
    """Return the probability that was given to each row's class."""
    known = {name.removeprefix(PROBABILITY): reported[name] for name in reported}
    found = [known[each].iloc[i] if each in known else 0.0 for i, each in enumerate(classes)]
    return pd.Series(found, dtype=np.float64)


def seen(monitor: StreamMonitor, number: int, day: MonitoredDay) -> tuple[DayReport, DayReport]:
    """Return what the monitor finds when the rows of a day come, and when its labels do."""
    name = f"day {number}"
    return (
        monitor.observe(name, day.features, day.predictions),
        monitor.compare(name, day.labels, day.reported, day.losses),
    )


def replayed(days: Sequence[MonitoredDay]) -> list[tuple[DayReport, DayReport]]:
    """Return what a monitor that begins with the first of these days finds on each."""
    monitor = StreamMonitor()
    return [seen(monitor, number, day) for number, day in enumerate(days)]


def incidents(found: Sequence[tuple[DayReport, DayReport]]) -> int:
    """Count of incidents: one for rows, and one for labels, while they last."""
    cases: list[Case] = []
    reported = 0
    for number, both in enumerate(found):
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        new = [
            Incident("alarm", part, each.alarms[0].what, now, "")
            for part, each in zip(("rows", "labels"), both, strict=True)
            if each.alarms
        ]
        cases, messages = reconcile(cases, new, now)
        reported += sum(message.status == "opened" for message in messages)
    return reported


def faults(
    day: MonitoredDay, generator: np.random.Generator
) -> Iterator[tuple[str, MonitoredDay]]:
    """Return what may be wrong with a day, each by name."""
    x, y, f, loss = day.features, day.labels, day.predictions, day.losses
    if is_number(y):
        mixed = pd.Series(generator.permutation(y.to_numpy()), index=y.index)
        for name, labels in (
            ("labels negated", -y),
            ("labels shuffled", mixed),
            ("dependence mirrored", 2 * y.median() - y),
        ):
            yield name, replace(day, labels=labels, losses=(labels - f).abs())
    else:
        classes = sorted(y.unique())
        if len(classes) == 2:
            flipped = y.map(dict(zip(classes, reversed(classes), strict=True)))
            yield "labels flipped", replace(day, labels=flipped, losses=1 - loss)
    moving = [name for name in x if is_number(x[name]) and x[name].nunique() > 1]
    for name, other in zip(moving, [*moving[1:], *moving[:1]], strict=True):
        for factor in (1.5, 3, 10):
            yield f"times {factor:g}", replace(day, features=x.assign(**{name: x[name] * factor}))
        yield "constant", replace(day, features=x.assign(**{name: x[name].iloc[0]}))
        yield "empty", replace(day, features=x.assign(**{name: np.nan}))
        if name != other:
            swapped = x.assign(**{name: x[other], other: x[name]})
            yield "two exchanged", replace(day, features=swapped)


def noticed(
    days: Sequence[MonitoredDay], at: int, generator: np.random.Generator
) -> dict[str, list[bool]]:
    """Return whether each fault alarms on the day into which it is put."""
    monitor = StreamMonitor()
    for number, day in enumerate(days[:at]):
        seen(monitor, number, day)
    found: dict[str, list[bool]] = defaultdict(list)
    for name, day in faults(days[at], generator):
        rows, labels = seen(deepcopy(monitor), at, day)
        found[name].append(bool((labels if name.startswith(("labels", "dep")) else rows).alarms))
    return found


def of_river(days: Sequence[MonitoredDay]) -> dict[str, int]:
    """Return signals of River's detectors at their defaults on each loss of 60 days."""
    made: dict[str, Any] = {
        "ADWIN": detectors.ADWIN(),  # type: ignore[no-untyped-call]
        "PageHinkley": detectors.PageHinkley(),
        "KSWIN": detectors.KSWIN(seed=0),
    }
    found = dict.fromkeys(made, 0)
    losses = pd.concat([day.losses for day in days])
    for loss in losses / losses.std():
        for name, detector in made.items():
            detector.update(loss)
            found[name] += detector.drift_detected
    return found


@dataclass(frozen=True)
class EstimatedDay:
    """The estimate of a day's loss next to the loss that came."""

    error: float
    before: float
    """Error of the mean of the last week with labels."""
    held: bool
    """Whether the interval held it."""
    alarms: dict[str, bool]
    """Whether the low end was above all days with labels, for the day and for each fault."""


def estimated(days: Sequence[MonitoredDay], number: int) -> EstimatedDay:
    """Return what a day's loss is estimated at a week before its labels come."""
    labelled = range(max(0, number - LATE - LENGTH), number - LATE)
    losses = {i: _read(days[i]) for i in labelled}
    model = LossModel(
        pd.concat([days[i].features for i in labelled]),
        pd.concat([days[i].sure for i in labelled]),
        pd.concat(list(losses.values())),
        [i for i in labelled for _ in range(len(losses[i]))],
    )
    day, came = days[number], _read(days[number])
    worst = max(float(each.mean()) for each in losses.values())
    x = day.features
    moving = [name for name in x if is_number(x[name]) and x[name].nunique() > 1]
    columns = {name: model.estimate(x.assign(**{name: np.nan}), day.sure) for name in moving}
    scaled = {name: model.estimate(x.assign(**{name: 10 * x[name]}), day.sure) for name in moving}
    loss, low, high = model.estimate(x, day.sure)
    before = float(np.mean([losses[i].mean() for i in labelled[-7:]]))
    return EstimatedDay(
        abs(loss - came.mean()),
        abs(before - came.mean()),
        low <= came.mean() <= high,
        {
            "clean": low > worst,
            "a column lost": any(each[1] > worst for each in columns.values()),
            "a column times 10": any(each[1] > worst for each in scaled.values()),
        },
    )


def _read(day: MonitoredDay) -> pd.Series:
    """Return the losses as people read them, of two classes or of numbers."""
    return day.losses if is_number(day.labels) else 2 * day.losses**2


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--predictions", type=Path, help="a folder that keeps them")
    asked = parser.parse_args(arguments)
    for name in asked.streams:
        kept = asked.predictions / f"{name}.parquet" if asked.predictions else None
        days = days_of(STREAMS[name], asked.mirror, kept)
        generator = np.random.default_rng(0)
        starts = np.linspace(0, len(days) - LENGTH, asked.replays).astype(int)
        replays = [days[start : start + LENGTH] for start in starts]
        out(f"\n{name}: {len(days)} days, {asked.replays} replays of {LENGTH}")
        _print_quiet("clean", [replayed(each) for each in replays], out)
        drawn = [[each[i] for i in generator.permutation(LENGTH)] for each in replays]
        _print_quiet("drawn order", [replayed(each) for each in drawn], out)
        signals = pd.DataFrame([of_river(each) for each in replays]).mean()
        out("  River, signals: " + ", ".join(f"{key} {n:.1f}" for key, n in signals.items()))
        shares: dict[str, list[bool]] = defaultdict(list)
        for each in replays:
            found = noticed(each, int(generator.integers(LEAST, LENGTH)), generator)
            for fault, hits in found.items():
                shares[fault] += hits
        for fault, hits in shares.items():
            out(f"  {fault:20} noticed {np.mean(hits):5.0%} of {len(hits)}")
        numbers = np.linspace(LENGTH, len(days) - 1, 3 * asked.replays).astype(int)
        each_day = [estimated(days, number) for number in numbers]
        error, before, held = np.mean([(e.error, e.before, e.held) for e in each_day], axis=0)
        out(
            f"  loss a week before its labels: error {error:.4g}, of the last week with labels"
            f" {before:.4g} ({error / before:.2f}), interval held {held:.0%} of {len(numbers)}"
        )
        for what in each_day[0].alarms:
            share = np.mean([each.alarms[what] for each in each_day])
            out(f"  estimate alarms, {what:18} {share:5.1%} of days")
    return 0


def _print_quiet(
    what: str, found: Sequence[Sequence[tuple[DayReport, DayReport]]], out: Callable[[str], None]
) -> None:
    alarming = [sum(bool(a.alarms or b.alarms) for a, b in each) for each in found]
    reported = [incidents(each) for each in found]
    drifts = [[sum(bool(both[i].drift) for both in each) for each in found] for i in (0, 1)]
    out(
        f"  {what:12} alarming days {np.mean(alarming):.2f} (most {max(alarming)}), incidents"
        f" {np.mean(reported):.2f} (most {max(reported)}),"
        f" drift of inputs {np.mean(drifts[0]):.2f},"
        f" of outcomes {np.mean(drifts[1]):.2f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
