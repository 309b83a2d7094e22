"""The monitor of days of rows, of labels that come later, and what is drift."""

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from leaseboard.tasks.live.drift import QUIET_DAYS, DriftSums, StreamMonitor, days_of_drift, limit

MONITORS = TypeAdapter(StreamMonitor)


def day(number, rows=60):
    """Return a table with a week, a season, a rare value, a flag, a category and a date."""
    generator = np.random.default_rng(number)
    table = pd.DataFrame(
        {
            "warm": generator.normal(10 + number / 5 + 3 * (number % 7 == 6), 1, rows),
            "month": 1 + number // 30,
            "rare": generator.poisson(0.2, rows),
            "flag": generator.random(rows) < 0.3,
            "town": generator.choice(["here", "there", "far"], rows, p=[0.5, 0.4, 0.1]),
            "at": pd.Timestamp("2026-01-01") + pd.Timedelta(days=number),
        }
    )
    labels = table["warm"] * 2 + generator.normal(0, 0.5, rows)
    return table, labels, table["warm"] * 2


def plain(monitor):
    """Return what JSON holds of a monitor."""
    return json.loads(MONITORS.dump_json(monitor))


def monitored(days, monitor=None, first=0):
    monitor, found = monitor or StreamMonitor(), []
    for number in range(first, first + days):
        table, labels, predictions = day(number)
        name = f"day {number}"
        found.append(monitor.observe(name, table, predictions))
        found.append(monitor.compare(name, labels, predictions, (labels - predictions).abs()))
    return monitor, found


@pytest.fixture(scope="module")
def kept():
    """Return what is remembered of forty days."""
    return monitored(40)[0]


def after(kept, change):
    """Return what is found on the day after, if it is changed."""
    table, _, predictions = day(40)
    return deepcopy(kept).observe("day 40", change(table), predictions).alarms


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("warm", lambda table: table.assign(warm=table["warm"] * 3)),
        ("warm", lambda table: table.assign(warm=12.0)),
        ("warm", lambda table: table.assign(warm=np.nan)),
        ("warm", lambda table: table.drop(columns="warm").assign(warm=table["rare"])),
        ("flag", lambda table: table.assign(flag=True)),
        ("town", lambda table: table.assign(town=table["town"].str.upper())),
        ("town", lambda table: table.assign(town=None)),
    ],
)
def test_a_day_that_is_wrong_alarms_at_once(kept, column, change):
    alarms = after(kept, change)

    assert alarms
    assert all(alarm.series.startswith(f"{column}: ") for alarm in alarms)


def test_a_day_of_which_more_comes_is_one_point_as_if_it_had_come_at_once(kept):
    whole, split = deepcopy(kept), deepcopy(kept)
    for number in (40, 41):
        table, labels, predictions = day(number)
        for rows in (20, 45, 60):
            if rows == 60:
                whole.observe(f"day {number}", table, predictions)
                whole.compare(f"day {number}", labels, predictions, (labels - predictions).abs())
            part = slice(rows)
            split.observe(f"day {number}", table[part], predictions[part])
            split.compare(
                f"day {number}",
                labels[part],
                predictions[part],
                (labels - predictions)[part].abs(),
            )

    assert plain(split) == plain(whole)


@pytest.mark.parametrize("wrong", [lambda labels: -labels, lambda labels: labels[::-1].to_numpy()])
def test_labels_that_are_wrong_alarm_at_once(kept, wrong):
    _, labels, predictions = day(40)
    labels = pd.Series(wrong(labels))
    seen = deepcopy(kept).compare("", labels, predictions, (labels - predictions).abs())

    said = {alarm.series: alarm.what for alarm in seen.alarms}
    (series,) = {"predictions: error", "predictions: disagreement"} & {*said}
    assert series == "predictions: error" or "and was 0." in said[series], "1 is wholly"
    assert series != "predictions: error" or " is -" not in said[series], "in the target's unit"


def test_flipped_classes_alarm_on_days_that_are_as_bad_by_their_loss():
    """Two classes alike often, predictions that are sometimes all too low: their order stays."""
    monitor, generator = StreamMonitor(), np.random.default_rng(0)
    for number in range(41):
        labels = pd.Series(generator.choice(["down", "up"], 60))
        level = 0.5 + 0.35 * np.sin(number)
        up = (level + np.where(labels == "up", 0.12, -0.12)) + generator.normal(0, 0.05, 60)
        reported = pd.DataFrame({"up": up.clip(0, 1), "down": 1 - up.clip(0, 1)})
        losses = reported["down"].where(labels == "up", reported["up"])
        if number < 40:
            assert monitor.compare(f"{number}", labels, reported, losses).alarms == []
    flipped = labels.map({"down": "up", "up": "down"})

    assert monitor.compare("40", flipped, reported, 1 - losses).alarms


def test_a_concept_that_changes_is_drift_in_days(kept):
    monitor, found = deepcopy(kept), []
    for number in range(40, 50):
        table, labels, _ = day(number)
        wrong = -table["warm"] * 2
        found.append(monitor.compare(f"day {number}", labels, wrong, (labels - wrong).abs()))
    first = next(i for i, seen in enumerate(found) if seen.drift)

    assert found[0].alarms
    assert first <= 3
    assert {drift.what[-6:] for drift in found[first].drift} == {"day 40"}


def test_it_goes_on_exactly_where_it_stopped(kept):
    again = MONITORS.validate_json(MONITORS.dump_json(kept))

    rest, whole = (monitored(5, monitor, 40)[1] for monitor in (again, deepcopy(kept)))
    assert [repr(seen) for seen in rest] == [repr(seen) for seen in whole]


@pytest.mark.parametrize(("times", "is_reported"), [(1.0, False), (1.2, False), (4.0, True)])
def test_a_day_that_costs_far_more_is_reported_whose_labels_are_as_ever(kept, times, is_reported):
    _, labels, predictions = day(40)
    wrong = labels + times * (predictions - labels)
    seen = deepcopy(kept).compare("day 40", labels, wrong, (labels - wrong).abs())

    assert {each.series for each in seen.worse} == (
        {"predictions: error"} if is_reported else set()
    )
    for each in seen.worse:
        assert "and was about" in each.what


def signals(days):
    """Return the days of signals, and for how long each had drifted."""
    sums, found = DriftSums(), []
    for number, today in enumerate(days):
        before = days[max(0, number - 60) : number]
        drifted = days_of_drift(sums, before, today, 0.01, limit(1, 2), both=True)
        if drifted:
            found.append((number, drifted))
    return found


def test_one_wild_day_is_not_drift():
    days = np.random.default_rng(1).normal(size=60)
    days[40] = 1000

    assert signals(days) == []


def test_independent_days_are_as_quiet_as_is_said():
    """With a spread that is known; that of 60 days errs."""
    generator = np.random.default_rng(0)
    most, length = limit(1, 2), 20_000
    days = generator.normal(size=length)
    reference = np.quantile(generator.normal(size=10_001), np.linspace(0.001, 0.999, 999))
    sums, found = DriftSums(known=len(reference)), 0
    for today in days:
        sums.known = len(reference)
        found += bool(days_of_drift(sums, reference, today, 0.0, most, both=True))

    assert length / found == pytest.approx(QUIET_DAYS, rel=0.35)
