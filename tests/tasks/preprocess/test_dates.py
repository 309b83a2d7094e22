"""Columns of dates, as files and frames have them, become the same parts everywhere."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.cached import cache_dataset
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.preprocess.encoding import known_dates, spread_dates
from leaseboard.tasks.preprocess.sparse import SparseEncoder
from leaseboard.tasks.preprocess.streaming import as_stream
from leaseboard.tasks.preprocess.tables import TableEncoder
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder

TIMES = pd.to_datetime(["2024-02-29 06:00", "2024-03-01 18:00", None, "2024-03-08 06:30"])
WRITTEN = ["2024-02-29T06:00", "2024-03-01T18:00", None, "2024-03-08T06:30"]


def test_however_they_are_given():
    for column in (
        TIMES,
        TIMES.astype("datetime64[ns]"),
        TIMES.tz_localize("Europe/Berlin"),
        WRITTEN,
        pd.array(WRITTEN, dtype="string"),
        [text and f"{text}:00+02:00" for text in WRITTEN],
        [None if time is pd.NaT else time.to_pydatetime() for time in TIMES],
    ):
        dates = columns.tidy(pd.Series(column, name="t"))

        assert columns.is_date(dates)
        assert not columns.is_text(dates)
        assert dates.equals(pd.Series(TIMES, name="t").astype("datetime64[us]"))


def test_equal_times_of_other_offsets_show_their_own_clocks():
    nine = dt.datetime(2024, 2, 29, 9, tzinfo=dt.UTC)
    ten = nine.astimezone(dt.timezone(dt.timedelta(hours=1)))
    found = columns.tidy(pd.Series([nine, ten, None, pd.Timestamp(ten)], dtype=object))

    assert found.dt.hour.tolist()[:2] == [9, 10]
    assert pd.isna(found[2])
    assert found[3].hour == 10


def test_a_column_that_a_date_makes_is_refused():
    for taken in ("t days", "t hour"):
        frame = pd.DataFrame({"t": TIMES, taken: 1.0})
        for given in (frame, frame[[taken, "t"]]):
            with pytest.raises(
                DataError, match=f"'{taken}' is also made of the dates 't': rename"
            ):
                spread_dates(given, known_dates(frame))


def test_dates_may_be_called_as_a_part_of_others():
    frame = pd.DataFrame({"t": TIMES, "t days": TIMES, "t month": 1.0}).iloc[:2]

    assert {"t days", "t days days"} <= set(spread_dates(frame, known_dates(frame.iloc[:1])))


def test_what_is_not_a_date_stays_what_it_was():
    for values in (
        ["2024-02-30"],
        ["2024-02-29", "later"],
        ["20240229"],
        ["12:30"],
        [dt.time(5)],
        [None],
    ):
        assert columns.as_dates(pd.Series(values, dtype=object)) is None


def test_only_parts_that_vary_are_columns_next_to_the_days():
    days = pd.DataFrame({"t": pd.to_datetime(["2024-03-01", "2024-03-02", None, "2024-03-04"])})
    found = spread_dates(days, known_dates(days)).drop(index=2)

    assert found["t weekday"].tolist() == ["friday", "saturday", "monday"]
    assert found["t days"].tolist() == [0.0, 1.0, 3.0]
    assert list(found) == ["t weekday", "t days"]
    years = pd.DataFrame({"t": pd.to_datetime(["2023-12-31", "2024-12-31", None])})
    found = spread_dates(years, known_dates(years))
    assert list(found) == ["t weekday", "t yearday", "t days"]
    assert found["t yearday"].tolist()[:2] == [365.0, 366.0]
    assert np.isnan(found["t yearday"][2])


def test_every_encoder_takes_them():
    for encoder in (
        TableEncoder(), TableEncoder("standard"), UnitRangeEncoder(), SparseEncoder("zero"),
    ):  # fmt: skip
        for times in (TIMES, WRITTEN):
            frame = pd.DataFrame({"x": range(4), "t": times})
            found = encoder.fit(frame).transform(frame)
            found = found.toarray() if hasattr(found, "toarray") else found

            assert found.shape[0] == 4
            assert found.shape[1] >= 5
            assert np.isfinite(found).all()
            later = pd.DataFrame({"x": [9], "t": ["1999-12-31T23:59:59.5+01:00"]})
            assert encoder.transform(later).shape == (1, found.shape[1])
            with pytest.raises(DataError, match=r"'t' holds dates, .*, and 'soon' in row 1"):
                encoder.transform(pd.DataFrame({"x": [9], "t": ["soon"]}))


def csv_of(tmp_path, *rows):
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(["when,day,price,sold", *rows, ""]), encoding="utf-8")
    return load(f"file:{path}?target=sold&task=regression")


def test_a_csv_with_dates_is_a_stream(tmp_path):
    data = csv_of(
        tmp_path,
        "2024-03-30T09:00:00+01:00,2024-03-30,1.5,3.5",
        "2024-03-31T09:00:00+02:00,2024-03-31,,4.5",
        "2024-04-01T10:00:00+02:00,,2.5,5.5",
    )
    stream = as_stream(data)
    by_name = dict(zip(stream.names, stream.features.T.tolist(), strict=True))

    assert by_name["when_hour=9"] == [1, 1, 0]  # nine in the morning, in winter and summer time
    assert by_name["when_weekday=sunday"] == [0, 1, 0]
    assert by_name["when_days"] == pytest.approx([0, 1, 2 + 1 / 24])
    assert by_name["day_weekday=saturday"] == [1, 0, 0]
    assert not any("day_hour" in name for name in by_name)
    made = {(origin.column, origin.part) for origin in stream.origins}
    assert made >= {("when", "hour"), ("when", "weekday"), ("when", "year sine"), ("when", "days")}
    assert made >= {("day", "days"), ("price", "")}
    assert len(stream.origins) == len(stream.names)
    assert stream.features.shape[1] == stream.namespaces[-1].stop


def test_kept_data_have_the_same_dates(tmp_path):
    data = csv_of(tmp_path, "2024-03-30T09:00,2024-03-30,1.5,3.5", ",2024-03-31,1,4.5")
    opened = cache_dataset(data, tmp_path).open()

    assert opened.features.equals(data.features)
    assert opened.digest == data.digest
    other = csv_of(tmp_path, "2024-03-30T09:01,2024-03-30,1.5,3.5", ",2024-03-31,1,4.5")
    assert other.digest != data.digest


def test_a_target_of_dates_is_refused(tmp_path):
    path = tmp_path / "due.csv"
    path.write_text("x,due\n1,1970-01-01\n2,1970-01-02\n", encoding="utf-8")
    for task in ("", "?task=regression", "?task=classification"):
        with pytest.raises(DataError, match="'due' holds dates, and is to be numbers or classes"):
            load(f"file:{path}{task}")
