"""Frames as they come: every type of column, gaps, dates, texts, and what is refused whole."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.tables.features import BUCKETS, MOST_VALUES

EVAL = {"algorithm": "chacha", "b": 3}
N = 60
random = np.random.default_rng(0)
X = random.normal(size=N).round(3)
COLOURS = random.choice(["red", "green", "blue"], N)
GAPS = np.where(random.random(N) < 0.3, np.nan, X)
TIMES = pd.date_range("2024-02-27", periods=N, freq="7h")
FRAMES = {
    "floats": {"x": X, "z": X[::-1]},
    "narrow": {"x": X.astype(np.float16), "n": np.arange(N, dtype=np.uint8)},
    "booleans": {"x": X, "b": X > 0},
    "gaps": {"x": X, "g": GAPS},
    "few gaps": {**dict.fromkeys("abcde", X), "g": GAPS, "h": GAPS[::-1], "t": TIMES.where(X > 0)},
    "a gap at first": {"x": np.r_[np.nan, X[1:]], "z": X},
    "nothing at all": {"x": np.full(N, np.nan), "z": X},
    "Int64": {"x": X, "n": pd.array([None, *range(1, N)], dtype="Int64")},
    "Float64": {"f": pd.array(np.where(np.isnan(GAPS), None, GAPS), dtype="Float64")},
    "boolean": {"x": X, "b": pd.array([True, None, False] * (N // 3), dtype="boolean")},
    "texts": {"x": X, "c": COLOURS},
    "string": {"x": X, "c": pd.array([None, *COLOURS[1:]], dtype="string")},
    "categories": {"x": X, "c": pd.Categorical(COLOURS)},
    "numerals as categories": {"x": X, "c": pd.Categorical((np.arange(N) % 3).astype(str))},
    "times": {"x": X, "t": TIMES},
    "times of a zone with gaps": {"t": TIMES.tz_localize("Europe/Berlin").where(X > 0)},
    "days": {"x": X, "t": [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(N)]},
    "all kinds in one": {"x": pd.Series([1.0, "a", None, True, TIMES[0], 2] * (N // 6))},
    "texts of digits": {"x": pd.Series(["1", "2"] * (N // 2), dtype=object)},
    "columns that are numbers": {0: X, 1: COLOURS},
}


def saved(model, path):
    model.save(path)
    return path.read_bytes()


def learned(frame, labels, **settings):
    model, predictions = OnlineAutoMLRegressor(**settings), []
    for row, label in zip(frame.to_dict("records"), labels, strict=True):
        predictions.append(model.predict_one(row))
        model.learn_one(row, float(label))
    return model, predictions


@pytest.mark.parametrize("settings", [{}, EVAL], ids=["default", "published"])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_learned_as_its_rows(kind, settings, tmp_path):
    frame = pd.DataFrame(FRAMES[kind])
    labels = np.nan_to_num(X) + (COLOURS == "red")
    single, predictions = learned(frame, labels, **settings)
    whole, parts = OnlineAutoMLRegressor(**settings), OnlineAutoMLRegressor(**settings)

    found = whole.predict_then_learn_many(frame, labels)
    for start in range(0, N, 7):
        parts.learn_many(frame[start : start + 7], labels[start : start + 7])

    assert found.tolist() == predictions
    expected = saved(single, tmp_path / "single")
    assert saved(whole, tmp_path / "whole") == expected
    assert saved(parts, tmp_path / "parts") == expected
    ahead = frame.iloc[::-1]
    assert whole.predict_many(ahead).tolist() == [
        single.predict_one(row) for row in ahead.to_dict("records")
    ]
    assert saved(whole, tmp_path / "asked") == expected
    assert (
        OnlineAutoMLRegressor.load(tmp_path / "whole")
        .predict_many(ahead)
        .equals(whole.predict_many(ahead))
    )


def test_none_and_nan_are_missing_and_what_is_not_named_is_zero():
    model = OnlineAutoMLRegressor(**EVAL)
    for value in (4.0, 6.0, 5.0, 5.5):
        model.learn_one({"x": value, "c": "red"}, value)

    assert model._features.row(model._features.values({"x": None, "c": None})).tolist() == [
        0,
        5.125,
    ]
    predictions = [
        model.predict_one({"x": x, "c": "red"}) for x in (None, math.nan, pd.NA, pd.NaT)
    ]
    assert len(set(predictions)) == 1
    assert (
        predictions[0]
        != model.predict_one({"c": "red"})
        == model.predict_one({"x": 0, "c": "red"})
    )


def test_a_few_columns_have_a_feature_that_reports_their_gaps():
    model = OnlineAutoMLRegressor(**EVAL)
    full = dict.fromkeys("abcdefgh", 1.0)
    model.learn_one(full, 1.0)
    before = model._features.n_features
    model.learn_one({**full, "c": None}, 1.0)
    model.learn_one({**full, "h": None, "a": None, "f": math.nan}, 1.0)
    features = model._features

    assert before == 8
    assert features.schema().features[8:] == ("c_is_missing", "a_is_missing")
    row = features.row(features.values({**full, "a": None, "b": None}))
    assert row.tolist() == [1.0] * 8 + [0.0, 1.0]
    array = np.ones((2, 8), dtype=np.float32)
    array[1, 0] = np.nan
    numbered = OnlineAutoMLRegressor(**EVAL)
    numbered.learn_many(array, [1.0, 2.0])
    assert len(numbered.predict_many(array)) == len(numbered.predict_many(array[:1])) + 1 == 2


def test_a_gap_where_there_never_was_one_and_a_feature_no_one_knows_get_an_answer():
    model = OnlineAutoMLRegressor()
    frame = pd.DataFrame({"x": X, "t": TIMES})
    model.learn_many(frame, X)

    for x in ({"x": None, "t": None}, {"new": None}, {}, {"t": "soon", "x": "many"}, {"new": 5}):
        assert math.isfinite(model.predict_one(x))


def test_a_date_is_hour_weekday_waves_of_the_year_and_days_since_the_first():
    model = OnlineAutoMLRegressor(**EVAL)
    model.learn_one({"t": dt.datetime(2024, 2, 29, 18)}, 1.0)
    model.learn_one({"t": dt.datetime(2024, 3, 2, 6)}, 2.0)
    features = model._features
    row = features.row(features.values({"t": np.datetime64("2024-03-02T06:30")}))

    assert dict(zip(features.schema().features, row.tolist(), strict=True)) == {
        "t_days": pytest.approx(1.5 + 0.5 / 24), "t_hour=18": 0, "t_weekday=thursday": 0,
        "t_year_sine": pytest.approx(math.sin(2 * math.pi * 62 / 365.25), abs=1e-6),
        "t_year_cosine": pytest.approx(math.cos(2 * math.pi * 62 / 365.25), abs=1e-6),
        "t_hour=6": 1, "t_weekday=saturday": 1,
    }  # fmt: skip


def test_a_value_may_change_its_type_and_go_back():
    model = OnlineAutoMLRegressor()
    for t in range(90):
        x = 1.0 * (t % 7) if t < 30 or t >= 60 else f"{t % 7} pieces"
        model.learn_one({"x": x, "z": 1.0}, t % 7)

    assert {"x", "x=3_pieces"} <= set(model._features.schema().features)
    assert math.isfinite(model.predict_one({"x": "3 pieces", "z": 1.0}))


def test_ids_share_a_bounded_number_of_columns():
    model = OnlineAutoMLRegressor(**EVAL)
    for t in range(2000):
        model.learn_one({"id": f"u{t}", "x": t % 3}, t % 3)

    assert model._features.n_features == MOST_VALUES + BUCKETS + 1
    assert "id=u0" in model._features.schema().features
    assert "id=u1999" not in model._features.schema().features


@pytest.mark.parametrize("settings", [{}, EVAL], ids=["default", "published"])
def test_columns_in_another_order_gone_and_new(settings, tmp_path):
    frame = pd.DataFrame({"x": X, "c": COLOURS, "g": GAPS, "t": TIMES})
    turned = frame[["t", "g", "c", "x"]]
    first, second = OnlineAutoMLRegressor(**settings), OnlineAutoMLRegressor(**settings)
    for model, one in ((first, frame), (second, turned)):
        model.learn_many(one[:20], X[:20])
        model.learn_many(one[20:40].drop(columns="c"), X[20:40])
        model.learn_many(one[40:].assign(new=2.0), X[40:])

    assert saved(first, tmp_path / "first") == saved(second, tmp_path / "second")
    assert first.predict_many(frame).equals(first.predict_many(turned))
    without = first.predict_many(frame.drop(columns="x"))
    assert without.equals(first.predict_many(frame.assign(x=0.0)))


TWICE = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", "x"])


@pytest.mark.parametrize(
    ("frame", "labels", "message"),
    [
        (TWICE, [1.0, 2.0], "column 'x' comes twice"),
        (pd.DataFrame({1: [1.0, 2.0], "1": ["a", "b"]}), [1.0, 2.0], "column '1' comes twice"),
        (pd.DataFrame({"x": [1.0, math.inf]}), [1.0, 2.0], "example 1 .*not finite in 32 bits"),
        (pd.DataFrame({"x": [1.0, math.inf], "c": ["a", "b"]}), [1.0, 2.0], "'x' is inf"),
        (pd.DataFrame({"x": ["a", "b"], "y": [None, [1]]}), [1.0, 2.0], "'y' holds a list"),
        (
            pd.DataFrame({"t": [None, TIMES[0]], "t weekday": ["tuesday", None]}),
            [1.0, 2.0],
            "is also made of 't weekday' and of 't'",
        ),
        (pd.DataFrame({"d": [1.0, 2j]}), [1.0, 2.0], "'d' holds complex numbers"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [1.0, math.nan], "label nan must be finite"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [1.0, 1e39], "must be finite in 32 bits"),
        (pd.DataFrame({"x": [1.0, 2.0]}), ["1", "2"], "label '1' is a str"),
        (pd.DataFrame({"x": [1.0, 2.0]}), pd.array([1, None], dtype="Int64"), "label nan"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [1.0], "1 labels for 2 examples"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [[1.0], [2.0]], r"labels of shape \(2, 1\)"),
    ],
)
@pytest.mark.parametrize("settings", [{}, EVAL], ids=["default", "published"])
def test_what_is_refused_changes_nothing(frame, labels, message, settings, tmp_path):
    model = OnlineAutoMLRegressor(**settings)
    model.learn_many(pd.DataFrame({"x": X, "c": COLOURS}), X)
    before = saved(model, tmp_path / "before")

    with pytest.raises((TypeError, ValueError), match=message):
        model.learn_many(frame, labels)
    assert saved(model, tmp_path / "after") == before


@pytest.mark.parametrize("empty", [[], np.empty((0, 2)), pd.DataFrame({"new": []}), pd.DataFrame(),
                                   pd.DataFrame({"t": TIMES[:0], "c": COLOURS[:0]})])  # fmt: skip
def test_an_empty_batch_is_nothing(empty, tmp_path):
    model, fresh = OnlineAutoMLRegressor(), OnlineAutoMLRegressor()
    model.learn_many(pd.DataFrame({"x": X}), X)
    before = saved(model, tmp_path / "before")

    assert (
        len(model.predict_then_learn_many(empty, []))
        == len(fresh.predict_then_learn_many(empty, []))
        == 0
    )
    assert saved(model, tmp_path / "after") == before
    assert fresh.examples == 0
