"""The watch over days of rows, and of labels that come later."""

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from leaseboard.tasks.keep.watch.stream_watch import WINDOW, StreamWatch

WATCHES = TypeAdapter(StreamWatch)


def day(number, rows=60):
    """A table with a week, a season, a rare value, a flag, a category and a date."""
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


def plain(watch):
    """What JSON holds of a watch."""
    return json.loads(WATCHES.dump_json(watch))


def watched(days, watch=None, first=0):
    watch, found = watch or StreamWatch(), []
    for number in range(first, first + days):
        table, labels, forecasts = day(number)
        name = f"day {number}"
        found.append(watch.observe(name, table, forecasts))
        found.append(watch.settle(name, labels, forecasts, (labels - forecasts).abs()))
    return watch, found


@pytest.fixture(scope="module")
def kept():
    """What is remembered of forty days."""
    return watched(40)[0]


def after(kept, change):
    """What is found on the day after, if it is changed."""
    table, _, forecasts = day(40)
    return deepcopy(kept).observe("day 40", change(table), forecasts).alarms


def test_clean_days_do_not_alarm():
    assert [alarm for seen in watched(80)[1] for alarm in seen.alarms] == []


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
    assert all(alarm.since == "day 40" for alarm in alarms)


def test_a_fault_that_comes_again_alarms_again(kept):
    watch = deepcopy(kept)
    for number, wrong in ((40, True), (41, False), (42, False), (43, True)):
        table, _, forecasts = day(number)
        table["warm"] *= 3 if wrong else 1
        assert bool(watch.observe(f"day {number}", table, forecasts).alarms) == wrong


def test_a_day_of_which_more_comes_is_one_point_as_if_it_had_come_at_once(kept):
    whole, split = deepcopy(kept), deepcopy(kept)
    for number in (40, 41):
        table, labels, forecasts = day(number)
        for rows in (20, 45, 60):
            if rows == 60:
                whole.observe(f"day {number}", table, forecasts)
                whole.settle(f"day {number}", labels, forecasts, (labels - forecasts).abs())
            part = slice(rows)
            split.observe(f"day {number}", table[part], forecasts[part])
            split.settle(
                f"day {number}", labels[part], forecasts[part], (labels - forecasts)[part].abs()
            )

    assert plain(split) == plain(whole)


def test_more_of_an_earlier_day_changes_its_point_alone_and_less_changes_nothing(kept):
    watch = deepcopy(kept)
    table, _, forecasts = day(38)
    before = plain(watch)["inputs"]
    assert watch.observe("day 38", table[:50], forecasts[:50]).series == {}
    assert plain(watch)["inputs"] == before

    more = pd.concat([table, table.assign(warm=500.0)], ignore_index=True)
    seen = watch.observe("day 38", more, pd.concat([forecasts, forecasts], ignore_index=True))
    after = plain(watch)["inputs"]
    assert seen.alarms
    assert seen.drift == []
    assert after["days"] == before["days"]
    assert [i for i in range(40) if after["rows"][i] != before["rows"][i]] == [38]


def test_drift_is_told_once_a_day_however_often_it_is_looked_at():
    watch, _ = watched(40)
    told = []
    for number in range(40, 44):
        table, labels, _ = day(number)
        wrong = -table["warm"] * 2
        for rows in (30, 60):
            part = slice(rows)
            seen = watch.settle(
                f"day {number}", labels[part], wrong[part], (labels - wrong)[part].abs()
            )
            told += [(number, each.series) for each in seen.drift]

    assert told
    assert len(told) == len(set(told))


def test_the_next_month_is_no_alarm(kept):
    assert after(kept, lambda table: table.assign(month=9)) == []


@pytest.mark.parametrize("wrong", [lambda labels: -labels, lambda labels: labels[::-1].to_numpy()])
def test_labels_that_are_wrong_alarm_at_once(kept, wrong):
    _, labels, forecasts = day(40)
    labels = pd.Series(wrong(labels))
    seen = deepcopy(kept).settle("", labels, forecasts, (labels - forecasts).abs())

    said = {alarm.series: alarm.what for alarm in seen.alarms}
    (series,) = {"forecasts: error", "forecasts: disagreement"} & {*said}
    assert series == "forecasts: error" or "and was 0." in said[series], "1 is wholly"
    assert series != "forecasts: error" or " is -" not in said[series], "in the target's own unit"


def test_classes_that_are_flipped_alarm_at_once():
    watch, generator = StreamWatch(), np.random.default_rng(0)
    for number in range(31):
        labels = pd.Series(np.where(generator.random(100) < 0.2, "late", "in time"))
        losses = pd.Series(generator.random(100) * 0.6)
        late = losses.where(labels == "in time", 1 - losses)
        told = pd.DataFrame({"late": late, "in time": 1 - late})
        assert watch.settle(f"{number}", labels, told, losses).alarms == []
    flipped = labels.map({"late": "in time", "in time": "late"})
    found = watch.settle("31", flipped, told, 1 - losses).alarms

    assert {alarm.series for alarm in found} == {"labels: other", "forecasts: disagreement"}


def test_flipped_classes_alarm_on_days_that_are_as_bad_by_their_loss():
    """Two classes alike often, forecasts that are sometimes all too low: their order stays."""
    watch, generator = StreamWatch(), np.random.default_rng(0)
    for number in range(41):
        labels = pd.Series(generator.choice(["down", "up"], 60))
        level = 0.5 + 0.35 * np.sin(number)
        up = (level + np.where(labels == "up", 0.12, -0.12)) + generator.normal(0, 0.05, 60)
        told = pd.DataFrame({"up": up.clip(0, 1), "down": 1 - up.clip(0, 1)})
        losses = told["down"].where(labels == "up", told["up"])
        if number < 40:
            assert watch.settle(f"{number}", labels, told, losses).alarms == []
    flipped = labels.map({"down": "up", "up": "down"})

    assert watch.settle("40", flipped, told, 1 - losses).alarms


def test_a_concept_that_changes_is_drift_in_days():
    watch, _ = watched(40)
    found = []
    for number in range(40, 50):
        table, labels, _ = day(number)
        wrong = -table["warm"] * 2
        found.append(watch.settle(f"day {number}", labels, wrong, (labels - wrong).abs()))
    first = next(i for i, seen in enumerate(found) if seen.drift)

    assert found[0].alarms
    assert first <= 3
    assert {drift.since for drift in found[first].drift} == {"day 40"}


def test_it_goes_on_exactly_where_it_stopped():
    _, whole = watched(75)
    watch, _ = watched(30)
    again = WATCHES.validate_json(WATCHES.dump_json(watch))

    rest = watched(45, again, 30)[1]
    assert [repr(seen) for seen in rest] == [repr(seen) for seen in whole[60:]]


def test_its_size_does_not_grow():
    sizes = []
    watch = StreamWatch()
    for first in (0, WINDOW, 2 * WINDOW):
        watched(WINDOW, watch, first)
        sizes.append(len(WATCHES.dump_json(watch)))

    assert sizes[2] < 1.1 * sizes[1] < 1.2 * sizes[0] < 60_000


def test_a_column_that_comes_and_goes_is_forgotten():
    watch, _ = watched(20)
    table, _, forecasts = day(20)
    watch.observe("day 20", table.assign(new=1.0), forecasts)
    watched(WINDOW, watch, 21)

    assert "new: middle" not in plain(watch)["inputs"]["values"]


def test_a_day_of_one_row_or_none_is_taken(kept):
    watch = deepcopy(kept)
    table, labels, forecasts = day(40)
    for rows in (1, 0):
        part = slice(rows)
        watch.observe("", table[part], forecasts[part])
        watch.settle("", labels[part], forecasts[part], labels[part])


@pytest.mark.parametrize(("times", "is_told"), [(1.0, False), (1.2, False), (4.0, True)])
def test_a_day_that_costs_far_more_is_told_whose_labels_are_as_ever(times, is_told):
    watch, _ = watched(40)
    _, labels, forecasts = day(40)
    wrong = labels + times * (forecasts - labels)
    seen = watch.settle("day 40", labels, wrong, (labels - wrong).abs())

    assert {each.series for each in seen.worse} == ({"forecasts: error"} if is_told else set())
    for each in seen.worse:
        assert "and was about" in each.what


def test_of_classes_the_loss_of_a_costly_day_is_told():
    watch = StreamWatch()
    for number in range(31):
        rng = np.random.default_rng(number)
        labels = pd.Series(rng.choice(["a", "b"], 60))
        sure = np.full(60, 0.9) if number < 30 else np.full(60, 0.2)
        shares = pd.DataFrame({"a": np.where(labels == "a", sure, 1 - sure)})
        shares["b"] = 1 - shares["a"]
        seen = watch.settle(f"day {number:02}", labels, shares, pd.Series(1 - sure))
        assert bool(seen.worse) == (number == 30)
