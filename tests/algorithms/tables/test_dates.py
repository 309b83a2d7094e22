"""Parts of dates are those of the calendar, for one time or many."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.tables.values import date_parts, is_date, microseconds_of

MOMENTS = [
    dt.datetime(2024, 2, 29, 18, 30, 1, 5),
    dt.datetime(2024, 2, 29, 18, 30, 1, 5, tzinfo=dt.UTC),
    pd.Timestamp("2024-02-29 18:30:01.000005", tz="America/New_York"),
    np.datetime64("2024-02-29T18:30:01.000005"),
    np.datetime64("2024-02-29T18:30:01.000005123"),
]


def test_parts_are_those_of_the_calendar():
    times = pd.date_range("1601-01-01", "2401-01-01", freq="31h17min", unit="us")
    parts = date_parts(times.to_numpy().astype(np.int64))

    assert np.array_equal(parts.hour, times.hour)
    assert np.array_equal(parts.weekday, times.day_of_week)
    assert np.array_equal(parts.month, times.month)
    assert parts.days[-1] - parts.days[0] == (times[-1] - times[0]) / pd.Timedelta(days=1)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: repr(moment)[:30])
def test_a_time_is_what_its_clock_shows(moment):
    assert is_date(moment)
    assert microseconds_of(moment) == 1_709_231_401_000_005
    assert date_parts(microseconds_of(moment))[:3] == (18, 3, 2)


@pytest.mark.parametrize("day", [dt.date(1969, 12, 31), np.datetime64("1969-12-31")])
def test_a_day_is_its_midnight(day):
    assert is_date(day)
    assert date_parts(microseconds_of(day)) == (0, 2, 12, -1.0)


@pytest.mark.parametrize("value", [1, 2.5, "2024-02-29", None, True, np.float32(1)])
def test_other_things_are_no_dates(value):
    assert not is_date(value)
