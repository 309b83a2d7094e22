"""Values of the types of Python, NumPy and pandas; parts of dates are those of the calendar."""

import datetime as dt
import decimal
import fractions
import math

import numpy as np
import pandas as pd

from leaseboard.algorithms.tables.features import FeatureMap
from leaseboard.algorithms.tables.values import copied, date_parts, parts_of


def test_parts_are_those_of_the_calendar():
    times = pd.date_range("1601-01-01", "2401-01-01", freq="31h17min", unit="us")
    parts = date_parts(times.to_numpy().astype(np.int64))

    assert np.array_equal(parts.hour, times.hour)
    assert np.array_equal(parts.weekday, times.day_of_week)
    assert np.array_equal(parts.month, times.month)
    assert np.array_equal(parts.yearday, times.day_of_year)
    assert parts.days[-1] - parts.days[0] == (times[-1] - times[0]) / pd.Timedelta(days=1)


NUMBERS = [1.5, decimal.Decimal("1.5"), fractions.Fraction(3, 2), np.float16(1.5), np.float64(1.5)]
GAPS = [None, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")]
SECONDS = [dt.time(1, 0, 0, 500_000), dt.timedelta(seconds=3600.5), pd.Timedelta("1h 500ms"),
           np.timedelta64(3_600_500, "ms"), np.timedelta64(3_600_500_000_000, "ns")]  # fmt: skip


def test_a_number_and_a_gap_of_any_type():
    for value in NUMBERS:
        assert (parts_of("x", value), copied(value)) == ([("x", 1.5)], 1.5)
    for value in GAPS:  # of a number or of a date
        found = [(name, math.isnan(number)) for name, number in parts_of("x", value)]
        numbers = ("x", "x year sine", "x year cosine", "x days")
        assert (found, copied(value)) == ([(name, True) for name in numbers], None)
    for value in (math.nan, decimal.Decimal("NaN"), np.float32("nan")):
        ((name, number),) = parts_of("x", value)
        assert (name, math.isnan(number)) == ("x", True)
    for value in SECONDS:  # durations and times of day
        assert FeatureMap().values({"x": value}) == {("", "x"): 3600.5}
        assert copied(value) == 3600.5
