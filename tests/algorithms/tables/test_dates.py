"""Texts of dates: each form is read, a column as its values alone, and what is not sure is not."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.column_types import (
    date_of,
    dates_of,
    refuse_unsure,
    shows_day_first,
)

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
DAYS = {
    "{y:04}-{m:02}-{d:02}": None,
    "{y:04}/{m}/{d}": None,
    "{y:04}.{m:02}.{d:02}": None,
    "{d:02}.{m:02}.{y:04}": None,
    "{d}.{m}.{y:04}": None,
    "{d} {name} {y:04}": None,
    "{d}. {short}. {y:04}": None,
    "{d:02}-{short}-{y:04}": None,
    "{name} {d}, {y:04}": None,
    "{d:02}/{m:02}/{y:04}": True,
    "{d}-{m}-{y:04}": True,
    "{m}/{d}/{y:04}": False,
    "{m:02}.{d:02}.{y:04}": False,
}
"""Forms of a day, and whether what reads it must know that the day is first."""
TIMES = {
    "": "D",
    " {H:02}:{M:02}": "m",
    " {h}:{M:02} {half}": "m",
    ", {h:02}:{M:02}:{S:02}{half}": "s",
    "T{H:02}:{M:02}:{S:02}Z": "s",
    " {H}:{M:02}:{S:02} +02:00": "s",
    "T{H:02}:{M:02}:{S:02}.{us:06}-0530": "us",
}
"""Forms of a time, and to what it is exact."""

moments = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2999, 12, 31))


def written(moment, form):
    return form.format(
        y=moment.year, m=moment.month, d=moment.day, name=MONTHS[moment.month - 1],
        short=MONTHS[moment.month - 1][:3].lower(), H=moment.hour, M=moment.minute,
        S=moment.second, us=moment.microsecond, h=moment.hour % 12 or 12,
        half="AM" if moment.hour < 12 else "PM",
    )  # fmt: skip


@given(st.lists(moments, min_size=1), st.sampled_from([*DAYS]), st.sampled_from([*TIMES]))
def test_every_form_is_read_and_a_column_as_its_values_alone(several, day, time):
    texts = [written(moment, day + time) for moment in several]
    order, exact = DAYS[day], TIMES[time]
    found = dates_of(texts, order)

    expected = np.array(several, "datetime64[us]").astype(f"datetime64[{exact}]")
    assert np.array_equal(found, expected.astype("datetime64[us]"))
    assert found.tolist() == [date_of(text, order) for text in texts]
    if shows_day_first(texts) is not None:
        assert shows_day_first(texts) is (order is not False and day[1] == "d")
    if order is not None and "." not in day:
        assert [date_of(text) for text in texts] == [None] * len(texts)


@given(st.text(max_size=30) | st.from_regex(r"\A[0-9./: -]{1,20}\Z"))
def test_any_text_is_a_date_of_the_calendar_or_none(text):
    for order in (None, True, False):
        found = date_of(text, order)
        assert found is None or f"{found.year:04}" in text


@pytest.mark.parametrize(
    "texts",
    [
        ["01/02/2024", "3/4/2024 10:00"],
        ["13/02/2024", "02/13/2024"],
        ["2024-01-02", "01/02/2024"],
        ["13/02/24"],
        ["13.02.24 10:30", "1.2.24 9:15"],
    ],
)
def test_an_unsure_form_is_named_with_the_way_to_parse_it(texts):
    with pytest.raises(DataError, match=f"column 'when' holds dates such as '{texts[0]}'"):
        refuse_unsure("when", texts)
    refuse_unsure("when", [*texts, "soon"])
    refuse_unsure("when", [])
