"""Frames as they come: every type of column, gaps, dates, texts, and what is refused whole."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor

EVAL = {"algorithm": "chacha", "b": 3}
N = 60
random = np.random.default_rng(0)
X = random.normal(size=N).round(3)
COLOURS = random.choice(["red", "green", "blue"], N)
GAPS = np.where(random.random(N) < 0.3, np.nan, X)
TIMES = pd.date_range("2024-02-27", periods=N, freq="7h")
FRAMES = {
    "floats": {"x": X, "z": X[::-1]},
    "gaps": {"x": X, "g": GAPS},
    "few gaps": {**dict.fromkeys("abcde", X), "g": GAPS, "h": GAPS[::-1], "t": TIMES.where(X > 0)},
    "a gap at first": {"x": np.r_[np.nan, X[1:]], "z": X},
    "Int64": {"x": X, "n": pd.array([None, *range(1, N)], dtype="Int64")},
    "boolean": {"x": X, "b": pd.array([True, None, False] * (N // 3), dtype="boolean")},
    "texts": {"x": X, "c": COLOURS},
    "categories": {"x": X, "c": pd.Categorical(COLOURS)},
    "times": {"x": X, "t": TIMES},
    "times of a zone with gaps": {"t": TIMES.tz_localize("Europe/Berlin").where(X > 0)},
    "days": {"x": X, "t": [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(N)]},
    "all kinds in one": {"x": pd.Series([1.0, "a", None, True, TIMES[0], 2] * (N // 6))},
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


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_learned_as_its_rows(kind, tmp_path):
    frame = pd.DataFrame(FRAMES[kind])
    labels = np.nan_to_num(X) + (COLOURS == "red")
    single, predictions = learned(frame, labels, **EVAL)
    whole, parts = OnlineAutoMLRegressor(**EVAL), OnlineAutoMLRegressor(**EVAL)

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


def test_columns_in_another_order_gone_and_new(tmp_path):
    frame = pd.DataFrame({"x": X, "c": COLOURS, "g": GAPS, "t": TIMES})
    turned = frame[["t", "g", "c", "x"]]
    first, second = OnlineAutoMLRegressor(**EVAL), OnlineAutoMLRegressor(**EVAL)
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
        (pd.DataFrame({"x": [1.0, math.inf]}), [1.0, 2.0], "must be finite in 32 bits"),
        (pd.DataFrame({"x": ["a", "b"], "y": [None, [1]]}), [1.0, 2.0], "'y' holds a list"),
        (
            pd.DataFrame({"t": [None, TIMES[0]], "t weekday": ["tuesday", None]}),
            [1.0, 2.0],
            "is also made of 't weekday' and of 't'",
        ),
        (pd.DataFrame({"d": [1.0, 2j]}), [1.0, 2.0], "'d' holds complex numbers"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [1.0, math.nan], "label nan must be finite"),
        (pd.DataFrame({"x": [1.0, 2.0]}), ["1", "2"], "label '1' is a str"),
        (pd.DataFrame({"x": [1.0, 2.0]}), [1.0], "1 labels for 2 examples"),
    ],
)
def test_what_is_refused_changes_nothing(frame, labels, message, tmp_path):
    model = OnlineAutoMLRegressor(**EVAL)
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
