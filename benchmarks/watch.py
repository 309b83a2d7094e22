"""How often the watch of a keep alarms on clean days, and what it notices on the same day.

``python -m benchmarks.watch --mirror DIR [--streams bike ...] [--replays 20] [--forecasts DIR]``
replays 60 days of real streams in the order of time, begun at places spread over them, with
forecasts that `chacha` made of each row before it learned it. It prints a line a stream:

- days that alarm, and incidents told, in 60 clean days: mean and most; nothing is found in the
  first two weeks, and days that are judged are counted
- signals of drift in 60 clean days, and of River's detectors on the same losses
- the same of days whose order was drawn, where nothing drifts
- the share of faults, each put into one day drawn after the second week, noticed on that day
- the error of the loss of a day, absolute or Brier, that is estimated a week before its labels
  come, and on how many days the estimate would be above all settled days: clean ones, and ones of
  which a column was lost or is ten times as large
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
from river import drift as peers

from leaseboard.tasks import fetch
from leaseboard.tasks.keep.estimation import LossModel
from leaseboard.tasks.keep.incidents import Case, Incident, reconcile
from leaseboard.tasks.keep.watch.novelty import LEAST
from leaseboard.tasks.keep.watch.signature import is_number
from leaseboard.tasks.keep.watch.stream_watch import Seen, StreamWatch
from leaseboard.tasks.models.continued import PROBABILITY, Continued

LENGTH = 60
LATE = 7


@dataclass(frozen=True)
class StreamKind:
    """Where a stream is, how many of its rows are taken, and on which day each is."""

    reference: str
    target: str
    every: int
    day: Callable[[pd.DataFrame], Any]
    late: float | None = None
    """Labels from here on are ``late``, and the others ``in time``."""


def _changes(frame: pd.DataFrame, *names: str) -> Any:
    """Rows with one value of `names` one after another are one day."""
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
class WatchedDay:
    """The rows of a day, with what was forecast of them and came."""

    features: pd.DataFrame
    labels: pd.Series
    forecasts: pd.Series
    losses: pd.Series
    sure: pd.Series
    """The forecasts of numbers; of classes the probability of the one that was forecast."""
    told: pd.Series | pd.DataFrame
    """The forecasts of numbers; of classes the probability of each."""


def days_of(kind: StreamKind, mirror: Path, kept: Path | None = None) -> list[WatchedDay]:
    """All days of a stream; its forecasts are kept in a file if one is named."""
    frame = fetch.load(kind.reference, mirrors=(mirror,)).features
    labels = fetch.load(kind.reference, mirrors=(mirror,)).target
    frame = frame.iloc[:: kind.every].reset_index(drop=True)
    labels = labels.iloc[:: kind.every].reset_index(drop=True).rename(kind.target)
    if kind.late is not None:
        labels = pd.Series(np.where(labels >= kind.late, "late", "in time"), name=kind.target)
    if not is_number(labels):
        labels = labels.astype(str).astype(object)
    if kept is not None and kept.exists():
        told = pd.read_parquet(kept)
    else:
        told = _told(frame, labels, kind.day(frame))
        if kept is not None:
            told.to_parquet(kept)
    rows = pd.Series(kind.day(frame)).groupby(kind.day(frame)).groups.values()
    shares = told[[name for name in told if name.startswith(PROBABILITY)]]
    shares.columns = shares.columns.str.removeprefix(PROBABILITY)
    whole = told["forecast"] if shares.empty else shares
    first, losses, sure = (told[name] for name in ("forecast", "loss", "sure"))
    return [
        WatchedDay(
            frame.loc[i], labels.loc[i], first.loc[i], losses.loc[i], sure.loc[i], whole.loc[i]
        )
        for i in rows
    ]


def _told(frame: pd.DataFrame, labels: pd.Series, day: Any) -> pd.DataFrame:
    """What was forecast of each day before the labels of a week ago were learned."""
    table = pd.concat([frame, labels], axis=1)
    model = Continued.new(table, target=str(labels.name))
    days = [rows.reset_index(drop=True) for _, rows in table.groupby(day)]
    found = []
    for number, rows in enumerate(days):
        told, came = model.predict(rows), rows[labels.name]
        forecasts = told["forecast"]
        if model.is_regression:
            each = {"forecast": forecasts, "sure": forecasts, "loss": (forecasts - came).abs()}
        else:
            each = {
                "forecast": forecasts.astype(str),
                "sure": _shares(told, forecasts),
                "loss": 1 - _shares(told, came),
                **{name: told[name] for name in told if name.startswith(PROBABILITY)},
            }
        found.append(pd.DataFrame(each))
        if number >= LATE:
            model.learn(days[number - LATE])
    return pd.concat(found, ignore_index=True)


def _shares(told: pd.DataFrame, classes: pd.Series) -> pd.Series:
    """The probability that was given to each row's class."""
    known = {name.removeprefix(PROBABILITY): told[name] for name in told}
    found = [known[each].iloc[i] if each in known else 0.0 for i, each in enumerate(classes)]
    return pd.Series(found, dtype=np.float64)


def seen(watch: StreamWatch, number: int, day: WatchedDay) -> tuple[Seen, Seen]:
    """What the watch finds when the rows of a day come, and when its labels do."""
    name = f"day {number}"
    return (
        watch.observe(name, day.features, day.forecasts),
        watch.settle(name, day.labels, day.told, day.losses),
    )


def replayed(days: Sequence[WatchedDay]) -> list[tuple[Seen, Seen]]:
    """What a watch that begins with the first of these days finds on each."""
    watch = StreamWatch()
    return [seen(watch, number, day) for number, day in enumerate(days)]


def incidents(found: Sequence[tuple[Seen, Seen]]) -> int:
    """How often somebody is told: one incident for rows, and one for labels, while they last."""
    cases: list[Case] = []
    told = 0
    for number, both in enumerate(found):
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        new = [
            Incident("alarm", part, each.alarms[0].what, now, "")
            for part, each in zip(("rows", "labels"), both, strict=True)
            if each.alarms
        ]
        after = reconcile(cases, new, now)
        cases = after.cases
        told += sum(message.status == "opened" for message in after.messages)
    return told


def faults(day: WatchedDay, generator: np.random.Generator) -> Iterator[tuple[str, WatchedDay]]:
    """What may be wrong with a day, each by name."""
    x, y, f, loss = day.features, day.labels, day.forecasts, day.losses
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
    days: Sequence[WatchedDay], at: int, generator: np.random.Generator
) -> dict[str, list[bool]]:
    """Whether each fault alarms on the day into which it is put."""
    watch = StreamWatch()
    for number, day in enumerate(days[:at]):
        seen(watch, number, day)
    found: dict[str, list[bool]] = defaultdict(list)
    for name, day in faults(days[at], generator):
        rows, labels = seen(deepcopy(watch), at, day)
        found[name].append(bool((labels if name.startswith(("labels", "dep")) else rows).alarms))
    return found


def of_river(days: Sequence[WatchedDay]) -> dict[str, int]:
    """Signals of River's detectors at their defaults on each loss of 60 days."""
    made: dict[str, Any] = {
        "ADWIN": peers.ADWIN(),  # type: ignore[no-untyped-call]
        "PageHinkley": peers.PageHinkley(),
        "KSWIN": peers.KSWIN(seed=0),
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
    """The estimate of a day's loss beside the loss that came."""

    error: float
    before: float
    """The error of the mean of the last settled week."""
    held: bool
    """Whether the interval held it."""
    alarms: dict[str, bool]
    """Whether the low end was above all settled days, of the day and of what may be wrong."""


def estimated(days: Sequence[WatchedDay], number: int) -> EstimatedDay:
    """What a day's loss is estimated at a week before its labels come."""
    settled = range(max(0, number - LATE - LENGTH), number - LATE)
    losses = {i: _read(days[i]) for i in settled}
    model = LossModel(
        pd.concat([days[i].features for i in settled]),
        pd.concat([days[i].sure for i in settled]),
        pd.concat(list(losses.values())),
        [i for i in settled for _ in range(len(losses[i]))],
    )
    day, came = days[number], _read(days[number])
    worst = max(float(each.mean()) for each in losses.values())
    x = day.features
    moving = [name for name in x if is_number(x[name]) and x[name].nunique() > 1]
    columns = {name: model.estimate(x.assign(**{name: np.nan}), day.sure) for name in moving}
    scaled = {name: model.estimate(x.assign(**{name: 10 * x[name]}), day.sure) for name in moving}
    loss, low, high = model.estimate(x, day.sure)
    before = float(np.mean([losses[i].mean() for i in settled[-7:]]))
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


def _read(day: WatchedDay) -> pd.Series:
    """The losses as people read them; there are two classes, or numbers."""
    return day.losses if is_number(day.labels) else 2 * day.losses**2


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--forecasts", type=Path, help="a folder that keeps them")
    asked = parser.parse_args(arguments)
    for name in asked.streams:
        kept = asked.forecasts / f"{name}.parquet" if asked.forecasts else None
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
            f"  loss a week before its labels: error {error:.4g}, of the last settled week"
            f" {before:.4g} ({error / before:.2f}), interval held {held:.0%} of {len(numbers)}"
        )
        for what in each_day[0].alarms:
            share = np.mean([each.alarms[what] for each in each_day])
            out(f"  estimate alarms, {what:18} {share:5.1%} of days")
    return 0


def _print_quiet(
    what: str, found: Sequence[Sequence[tuple[Seen, Seen]]], out: Callable[[str], None]
) -> None:
    alarming = [sum(bool(a.alarms or b.alarms) for a, b in each) for each in found]
    told = [incidents(each) for each in found]
    drifts = [[sum(bool(both[i].drift) for both in each) for each in found] for i in (0, 1)]
    out(
        f"  {what:12} alarming days {np.mean(alarming):.2f} (most {max(alarming)}), incidents"
        f" {np.mean(told):.2f} (most {max(told)}), drift of inputs {np.mean(drifts[0]):.2f},"
        f" of outcomes {np.mean(drifts[1]):.2f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
