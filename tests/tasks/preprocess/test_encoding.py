"""Streams made of datasets: features as rows come, the rules of ChaCha's authors, refusals."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.environments.stream import MOST_CLASSES
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.tables.features import FeatureMap
from leaseboard.tasks.fetch.columns import tidy_frame
from leaseboard.tasks.fetch.dataset import Options, RawTable, finish
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.environments import holdout
from leaseboard.tasks.preprocess.encoding import (
    StreamOptions,
    as_column,
    as_stream,
    in_float32,
    log_target,
)


def dataset(frame: pd.DataFrame, **options):
    return finish(RawTable(frame, "test"), Options(**options), "file:test.csv")


def stream(options=None, **columns):
    frame = pd.DataFrame({**columns, "y": np.arange(len(next(iter(columns.values())))) / 2})
    return as_stream(dataset(frame, task="regression"), options)


def test_namespaces_hold_the_ceiling_of_a_tenth_of_the_columns():
    for n_features, sizes in ((1, [1]), (10, [1] * 10), (11, [2] * 5 + [1]), (48, [5] * 9 + [3])):
        schema = stream(**{f"x{place}": [0.0, 1.0] for place in range(n_features)}).schema

        assert [len(columns) for columns in schema.columns] == sizes
        assert sum(schema.columns, ()) == tuple(range(n_features))
        assert schema.namespaces == tuple("abcdefghij"[: len(sizes)])


def test_the_log_rule_of_the_authors_code():
    for low, high, code in ((0, 99, False), (0, 100, True), (-60, 50, True), (1, 101, True)):
        _, shift = log_target(np.array([low, high], dtype=np.float64), "code")
        assert (shift is not None) is code
    assert log_target(np.array([1.0, np.e]), True)[0].tolist() == [0.0, 1.0]
    logarithms, shift = log_target(np.array([0.0, np.e - 1]), True)
    assert (logarithms.tolist(), shift) == ([0.0, 1.0], 1.0)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 1000.5]})
    cut = as_stream(dataset(frame), StreamOptions(max_rows=2, log_target="code"))
    assert cut.labels.tolist() == [0.0, np.float32(np.log(2))]  # decided on the whole set


def test_the_encoding_of_the_authors_next_to_ours():
    nominal = pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"])
    given = {"a": [1.23456749, 1e-7, None], "n": nominal}
    own = StreamOptions(encoding="codes", decimals=6, missing="zero")
    codes, one_hot = stream(own, **given), stream(**given)

    assert codes.features[:, 0].tolist() == [np.float32(1.234567), 0.0, 0.0]
    assert codes.features[:, 1].tolist() == [0.0, 2.0, 0.0]
    assert codes.schema.features == ("0", "1")  # by which the authors' text files name columns
    assert [origin.column for origin in codes.schema.origins] == ["a", "n"]
    assert one_hot.schema.features == ("a", "n=low", "n=high")
    assert one_hot.features[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert one_hot.births == (0, 0, 1)


def test_a_gap_has_what_the_rows_before_let_expect_and_later_rows_change_nothing():
    x, c = [1.0, 3.0, None, None, 100.0], ["u", "v", None, "u", "v"]
    found = stream(x=x, c=c)

    assert found.schema.features == ("c=u", "x", "c=v")
    assert found.features[:, 1].tolist() == [1, 3, 2, 2, 100]
    assert found.features[:, ::2].tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    other = stream(x=[*x[:3], -50.0, 9.0], c=[*c[:3], "new", "newer"]).features
    assert other[:3, :3].tolist() == found.features[:3].tolist()
    assert not other[:3, 3:].any()
    whole = {"x": [1.0, 3.0, 2.0], "c": ["u", "v", "u"]}
    fill, zero = (stream(StreamOptions(missing=m), **whole) for m in ("fill", "zero"))
    assert fill.features.tobytes() == zero.features.tobytes()


def test_a_flag_with_gaps_is_a_number_however_it_is_written():
    found = stream(a=[True, None, False], b=["true", "FALSE", None], c=["yes", "no", "yes"])

    assert found.schema.features[:3] == ("a", "b", "c=yes")
    assert found.features[:, :2].tolist() == [[1, 1], [1, 0], [0, 0.5]]


def test_a_csv_with_dates_is_a_stream(tmp_path):
    (tmp_path / "sales.csv").write_text(
        "when,day,price,sold\n"
        "2024-03-30T09:00:00+01:00,2024-03-30,1.5,3.5\n"
        "2024-03-31T09:00:00+02:00,2024-03-31,,4.5\n"
        "2024-04-01T10:00:00+02:00,,2.5,5.5\n"
    )
    found = as_stream(load(f"file:{tmp_path / 'sales.csv'}?target=sold&task=regression"))
    by_name = dict(zip(found.schema.features, found.features.T.tolist(), strict=True))

    assert by_name["when_hour=9"] == [1, 1, 0]  # nine in the morning, in winter and summer time
    assert by_name["when_days"] == pytest.approx([0, 1, 2 + 1 / 24])
    assert by_name["day_weekday=saturday"] == [1, 0, 0]
    made = {(origin.column, origin.part) for origin in found.schema.origins}
    assert made >= {("when", "hour"), ("when", "year sine"), ("day", "days"), ("price", "")}


LONG = "Owls eat mice at night. " * 20
KINDS = {
    "missing": [None, None, None],
    "number": [1.5, None, 2],
    "decimal": [Decimal("1.5"), Decimal("-2"), None],
    "flag": [True, None, False],
    "date": [dt.datetime(2024, 2, 29, 18), None, dt.datetime(2024, 3, 1)],
    "day": [dt.date(2024, 2, 29), dt.date(2024, 3, 1), None],
    "duration": [dt.timedelta(hours=1), None, dt.timedelta(seconds=2)],
    "time": [dt.time(12, 30), dt.time(0, 0, 1), None],
    "category": ["a", None, "b"],
    "bytes": [b"caf\xc3\xa9", b"a", None],
    "text": [LONG, "owl", None],
    "missing and text": [None, "owl", LONG],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_and_a_dictionary_read_every_kind_of_value_alike(kind):
    """A file's column, whose type pandas chose, against the values of requests."""
    column = tidy_frame(pd.DataFrame({"x": pd.Series(KINDS[kind], dtype=object)}))["x"]
    encoder, features, seen = FeatureMap(), FeatureMap(), []
    found, _ = encoder.encode({"x": as_column(column)})
    for value in KINDS[kind]:
        known = features.values({"x": value})
        features = features.extended(features.unknown(known))
        seen.append(features.row(known, learns=True).tolist())

    assert encoder.schema().features == features.schema().features
    assert encoder.schema().origins == features.schema().origins
    wide = len(encoder.schema().features)
    assert found.tolist() == [row + [0.0] * (wide - len(row)) for row in seen]


def test_a_shuffle_permutes_rows_by_the_seed_before_the_cut():
    data = load("synthetic:fried?rows=1000")
    options = StreamOptions(shuffle=True, max_rows=100)

    first, again, other = (as_stream(data, options, seed) for seed in (1, 1, 2))

    assert np.array_equal(first.features, again.features)
    assert not np.array_equal(first.features, other.features)
    assert first.features.shape == (100, 10)
    everything = {tuple(row) for row in as_stream(data).features.tolist()}
    assert {tuple(row) for row in first.features.tolist()} <= everything


def of_classes(values, **options):
    frame = pd.DataFrame({"a": np.arange(len(values), dtype=float), "y": values})
    return as_stream(dataset(frame), StreamOptions(**options))


@pytest.mark.parametrize(
    ("values", "rows", "classes", "labels"),
    [
        ("wuwvu", None, ("w", "u", "v"), [0, 1, 0, 2, 1]),  # numbered as they come
        ("wuwzvu", 4, ("w", "u", "z"), [0, 1, 0, 2]),  # those that do not come have no number
        ("wuwvu", 3, (), [1, -1, 1]),  # two that come of three
        ("wwu", 2, (), [1, 1]),  # a dataset of two keeps both
    ],
)
def test_classes_that_come(values, rows, classes, labels):
    found = of_classes(list(values), max_rows=rows)

    assert (found.task, found.classes) == ("classification", classes)
    assert found.labels.tolist() == labels


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (lambda: of_classes(["w", "w", "u", "v"], max_rows=2), "'w' in all 2 rows .*max_rows"),
        (
            lambda: of_classes(pd.Categorical([f"c{n}" for n in range(MOST_CLASSES + 1)])),
            "'y' has 1001 classes.*2 to 1000 classes; name another column with target=",
        ),
        (lambda: stream(bad=[1.0, np.inf, 2.0]), "'bad'.*inf in row 2"),
    ],
)
def test_a_stream_refuses_what_it_cannot_take(given, named):
    with pytest.raises(DataError, match=rf"^file:test.csv: .*{named}"):
        given()


@pytest.mark.parametrize("form", ["stream", "holdout"])
def test_only_targets_that_float32_distinguishes_are_taken(form):
    def made(middle):
        y = middle + np.random.default_rng(0).normal(size=200)
        data = dataset(pd.DataFrame({"a": np.arange(200.0), "y": y}), task="regression")
        if form == "stream":
            return as_stream(data)
        return holdout.as_holdout(data, holdout.Options(), 0)

    for middle in (1.76e9, -3e7):
        with pytest.raises(
            DataError, match=r"test\.csv.*: the target's values lie around .*subtr"
        ):
            made(middle)
    for middle in (0, 2000, 1e4):
        made(middle)
    for target in ([0.1], [0.1] * 3, [1.76e9 + 0.1] * 3, [0, 3.4e38], [0, -3.4e38]):
        assert in_float32(np.array(target)).tolist() == np.float32(target).tolist()
    for target, fix in (
        ([0.0, 1e39], r"1e\+39, beyond .* rescale it"),
        ([-np.inf, 0.0], "-inf, beyond .* rescale it"),
        ([1e-200, 3e-200], "cannot distinguish them, rescale it"),  # their deviation is 0
        ([1e30, 1.00000001e30], "cannot distinguish them, subtract a constant"),
        ([], "0 values: give at least one row"),
    ):
        with pytest.raises(DataError, match=fix):
            in_float32(np.array(target))
