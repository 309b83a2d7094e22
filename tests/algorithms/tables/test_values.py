"""Values of any type, what fills a gap, and what labels and importances are."""

import datetime as dt
import decimal
import fractions
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming.base import examples_of
from leaseboard.algorithms.tables.features import FeatureMap
from leaseboard.algorithms.tables.row_reader import RowReader, new_gaps
from leaseboard.algorithms.tables.values import codes_of, copied, date_parts, parts_of


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
        waves = "x year sine", "x year cosine"
        numbers = ("x", "x time of day", "x day of week", *waves, "x days")
        assert (found, copied(value)) == ([(name, True) for name in numbers], None)
    for value in (math.nan, decimal.Decimal("NaN"), np.float32("nan")):
        ((name, number),) = parts_of("x", value)
        assert (name, math.isnan(number)) == ("x", True)
    for value in SECONDS:  # durations and times of day
        assert FeatureMap().values({"x": value}) == {("", "x"): 3600.5}
        assert copied(value) == 3600.5


def test_a_date_has_its_time_and_weekday_as_numbers_too():
    found = dict(parts_of("x", dt.datetime(2026, 12, 3, 0, 45)))
    assert (found["x time of day"], found["x day of week"]) == (0.75, 3.0)
    assert "x hour" not in found
    assert not {"x time of day", "x hour"} & {*dict(parts_of("x", dt.date(2026, 12, 3)))}


NAN = np.nan


def filled(values):
    """Return the values of a column, whose gaps are filled one after the other."""
    reader, found = RowReader({}, new_gaps(1), None), []
    for value in values:
        reader.example[:] = value
        reader.learn_gaps()
        found.append(reader.example[0])
    return np.array(found)


def test_where_values_move_slowly_it_is_the_last_one_and_in_a_long_gap_the_mean():
    random = np.random.default_rng(0)
    values = [0.0]
    for step in random.normal(0, 1, 20_000):
        values.append(0.99 * values[-1] + step)
    found = filled([*values, *[NAN] * 1000])[-1000:]

    assert abs(found[0] - values[-1]) < 0.05 * abs(values[-1])
    assert abs(found[-1] - np.mean(values)) < 0.05


numbers = st.floats(-1e6, 1e6, width=32) | st.just(NAN)


@given(st.lists(numbers, min_size=1, max_size=30), st.integers(0, 29), numbers)
def test_later_rows_change_nothing(values, place, other):
    cut = place % len(values)
    changed = [*values[: cut + 1], other, *values[cut + 1 :]]

    assert np.array_equal(filled(values)[: cut + 1], filled(changed)[: cut + 1])


@given(st.lists(numbers, min_size=1, max_size=30))
def test_what_fills_a_gap_lies_within_the_values_before(values):
    found = filled(values)
    for place in np.flatnonzero(np.isnan(values)):
        seen = [v for v in values[:place] if not np.isnan(v)] or [0.0]
        slack = 1e-5 * max(map(abs, seen))
        assert min(seen) - slack <= found[place] <= max(seen) + slack


DAYS = np.array(["2024-01-02", "2024-01-03"], dtype="datetime64[ns]")
UNITS = ("ns", "us", "s", "D")


NO_BLOCKS = {
    **{f"dates in {unit}": DAYS.astype(f"M8[{unit}]")[:, None] for unit in UNITS},
    "complex": np.array([[1j], [2.0]]),
    "texts of digits": [["1.5"], ["2"]],
    "objects": np.array([["1.5"], [1.5]], dtype=object),
}


def test_what_numpy_would_make_numbers_of_is_refused():
    for block in NO_BLOCKS.values():
        with pytest.raises(UsageError, match=r"must hold numbers .*: make a DataFrame of other"):
            examples_of(block)


@pytest.mark.parametrize("classes", [[0, 1], [False, True], np.array([0.0, 1.0])], ids=str)
def test_labels_are_matched_with_classes_by_value(classes):
    up = np.array([True, False, True])
    series = pd.Series(up)
    for labels in (
        up, up.astype(int), up.astype(np.float32), series.astype("boolean"),
        series.astype("Int64"), series.astype("bool[pyarrow]"), series.astype("category"),
    ):  # fmt: skip
        assert codes_of(np.asarray(labels), np.asarray(classes)).tolist() == [1, 0, 1]
