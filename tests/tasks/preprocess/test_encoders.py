"""The encoders of tables: fitted on training rows alone, transformers for scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.preprocess import CODE, INDICATOR, MANY
from leaseboard.tasks.preprocess.encoders import (
    WIDEST,
    TableEncoder,
    UnitRangeEncoder,
    refuse_gaps,
    sparse_rows,
)
from leaseboard.tasks.preprocess.encoding import known_dates, spread_dates

TRAIN = np.array([0, 1, 2])
COLOURS = pd.Categorical(["red", "green", "red", "blue"], categories=["green", "blue", "red"])
ENCODERS = (
    TableEncoder(), TableEncoder("standard", codes=True), UnitRangeEncoder(),
)  # fmt: skip


def encoded(scale="none", **given: object):
    """Return all rows, encoded by the first three."""
    frame = pd.DataFrame(given)
    return TableEncoder(scale).fit(frame.iloc[TRAIN]).transform(frame)


def test_gaps_are_medians_and_categories_those_of_the_training_rows_in_declared_order():
    X = encoded(a=[1.0, np.nan, 4.0, 100.0], empty=[np.nan] * 3 + [5.0])

    assert X.tolist() == [[1.0, 0.0], [2.5, 0.0], [4.0, 0.0], [100.0, 5.0]]
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert encoded(c=COLOURS).tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]
    strings = encoded(c=pd.Series(["u", "b", None, "new"], dtype=object))
    assert strings.tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]


def test_codes_are_places_after_all_features_of_columns_with_three_categories_and_more():
    frame = pd.DataFrame(
        {"c": ["u", "b", "x"], "two": ["n", "y", "n"], "a": [1.0, 2.0, 3.0], "none": [None] * 3}
    )
    encoder = TableEncoder(codes=True).fit(frame)
    other = frame.assign(c=["x", None, "new"])
    X = encoder.transform(other)

    assert encoder.kinds_.tolist() == [INDICATOR] * 3 + [0] * 3 + [CODE]
    several = pd.DataFrame({"many": list("abcdefghijk"), "few": list("abcdefghijj")})
    assert TableEncoder(codes=True).fit(several).kinds_[-2:].tolist() == [MANY, CODE]
    assert X[:, -1].tolist() == [2, -1, 0.5]
    assert X[:, :-1].tolist() == TableEncoder().fit(frame).transform(other).tolist()


def test_standard_features_have_mean_0_and_variance_1_on_the_training_rows():
    X = encoded("standard", a=[1.0, 2.0, 3.0, 9.0], c=COLOURS, same=[0.1, 0.1, 0.1, 0.2])

    assert X[TRAIN].mean(axis=0) == pytest.approx(0, abs=1e-6)
    assert X[TRAIN].std(axis=0) == pytest.approx([1, 1, 1, 0], abs=1e-6)
    assert X[3].tolist() == pytest.approx([8.573214, -0.707107, -1.414214, 0.1])
    far = encoded("standard", a=[0.0, 1e-109, 0.0, 1.0])
    assert far[3, 0] == np.finfo(np.float32).max
    moments = encoded("standard", t=1.6e9 + np.array([0.0, 1.0, 2.0, 3.0]))
    assert np.diff(moments[:, 0]) == pytest.approx(1.2247449)  # a small spread is not lost


def test_more_categories_than_features_share_them():
    names = [f"title {i}" for i in range(3 * WIDEST)] * 2
    rows = pd.DataFrame({"name": names, "size": np.arange(len(names), dtype=np.float64)})
    encoder = TableEncoder("standard").fit(rows)
    features = encoder.transform(rows)

    assert features.shape == (len(rows), WIDEST + 1)
    order = np.unique(names, return_inverse=True)[1]
    assert np.array_equal(features[:, :-1].argmax(axis=1), order % WIDEST)
    assert (encoder.transform(rows.assign(name="unseen"))[:, :-1] < 0).all()


def test_columns_within_unit_range_of_any_rows_by_number():
    frame = pd.DataFrame(
        {
            "x": [1.0, np.nan, 4.0, 10.0],
            "n": pd.Categorical(["l", "s", None, "m"], categories=["s", "m", "l"]),
            "b": [True, False, True, True],
            "i": np.array([5, 5, 5, 7], np.int8),
            "empty": np.full(4, np.nan),
        }
    )
    train, every = np.array([2, 0, 1]), np.array([3, 1, 0])
    by_number = UnitRangeEncoder().fit(frame, rows=train)
    X = by_number.transform(frame)

    assert X[:, 0] == pytest.approx([0, 0.5, 1, 3])
    assert X[:, 1] == pytest.approx([1, 1 / 3, 0, 2 / 3])  # missing is -1, the least of all
    assert X[:, 2:].tolist() == [[1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 2, 0]]
    copied = clone(by_number).fit(frame.iloc[train]).transform(frame.iloc[every])
    np.testing.assert_array_equal(by_number.transform(frame, rows=every), copied)


def test_sparse_columns_follow_one_another_and_gaps_are_refused_or_no_feature():
    frame = pd.DataFrame(
        {
            "x": [0.5, 0.0, 2.0],
            "c": pd.Categorical(["v", None, "u"], categories=["u", "v", "w"]),
            "title": pd.Series(["a b a", "c", None], dtype=object),
            "flag": [True, False, True],
            "body": pd.Series(["b b", "d e", "a"], dtype=object),
        }
    )
    features, names = sparse_rows(frame, np.array([0, 1]))
    assert names == (
        "x", "c=u", "c=v", "c=w", "a", "b", "c", "flag", "b", "d", "e"
    )  # fmt: skip
    assert features.toarray().tolist() == [
        [0.5, 0, 1, 0, 2, 1, 0, 1, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1],
        [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    ]
    gap = pd.DataFrame({"x": [1.0, np.nan]})
    with pytest.raises(DataError, match=r"column 'x' is missing \(NaN\) in 1 rows"):
        refuse_gaps(gap)
    assert sparse_rows(gap, TRAIN[:2])[0].toarray().tolist() == [[1.0], [0.0]]


TIMES = pd.to_datetime(["2024-02-29 06:00", "2024-03-01 18:00", None, "2024-03-08 06:30"])
WRITTEN = ["2024-02-29T06:00", "2024-03-01T18:00", None, "2024-03-08T06:30"]


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_every_encoder_is_cloned_saved_and_knows_categories_by_label_and_dates(encoder, tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 4.0, 2.0], "c": COLOURS, "t": TIMES})
    fitted = clone(encoder).fit(frame)
    found = fitted.transform(frame)
    skops.io.dump(fitted, tmp_path / "saved")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "saved")

    assert np.isfinite(found).all()
    for again in (
        skops.io.load(tmp_path / "saved", trusted=trusted),
        pickle.loads(pickle.dumps(fitted)),
        clone(fitted).fit(frame.assign(t=WRITTEN)),
    ):
        np.testing.assert_array_equal((again.transform(frame)), found)
    others = pd.Categorical(
        ["red", "green", "red", "blue"], categories=["red", "x", "blue", "green"]
    )
    written = frame.assign(c=others, t=WRITTEN)
    np.testing.assert_array_equal((fitted.transform(written)), found)
    later = pd.DataFrame({"a": [9.0], "c": ["new"], "t": ["1999-12-31T23:59:59.5+01:00"]})
    assert fitted.transform(later).shape == (1, found.shape[1])
    with pytest.raises(DataError, match=r"'t' holds dates, .*, and 'soon' in row 1"):
        fitted.transform(later.assign(t="soon"))
    model = make_pipeline(clone(encoder), LinearRegression()).fit(frame, [0.0, 1.0, 2.0, 3.0])
    assert model.predict(frame) == pytest.approx([0.0, 1.0, 2.0, 3.0], abs=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_infinite_values_are_refused(encoder):
    bad = pd.DataFrame({"x": [1.0, np.inf]})
    with pytest.raises(DataError, match="'x' holds numbers that are finite in 32 bits, and"):
        clone(encoder).fit(bad).transform(bad)


numbers = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), min_size=4, max_size=4)
labels = st.lists(st.sampled_from(["u", "v", "w", None]), min_size=4, max_size=4)


@given(a=numbers, b=labels, other_a=numbers, other_b=labels, encoder=st.sampled_from(ENCODERS))
def test_rows_outside_training_never_change_the_encoding(a, b, other_a, other_b, encoder):
    kinds = ["u", "v", "w"]
    one = pd.DataFrame({"a": a, "b": pd.Categorical(b, categories=kinds)})
    two = pd.DataFrame(
        {"a": a[:3] + other_a[3:], "b": pd.Categorical(b[:3] + other_b[3:], categories=kinds)}
    )
    fitted, other = (clone(encoder).fit(f.iloc[TRAIN]) for f in (one, two))

    for frame in (one, two):
        np.testing.assert_array_equal((fitted.transform(frame)), (other.transform(frame)))


def test_only_parts_of_dates_that_vary_are_columns_next_to_the_days():
    days = pd.DataFrame({"t": pd.to_datetime(["2024-03-01", "2024-03-02", None, "2024-03-04"])})
    found = spread_dates(days, known_dates(days)).drop(index=2)

    assert found["t weekday"].tolist() == ["friday", "saturday", "monday"]
    assert found["t days"].tolist() == [0.0, 1.0, 3.0]
    assert list(found) == ["t weekday", "t days"]
    years = pd.DataFrame({"t": pd.to_datetime(["2023-12-31", "2024-12-31", None])})
    found = spread_dates(years, known_dates(years))
    assert found["t yearday"].tolist()[:2] == [365.0, 366.0]
    taken = pd.DataFrame({"t": TIMES, "t hour": 1.0})
    with pytest.raises(DataError, match="'t hour' is also made of the dates 't': rename"):
        spread_dates(taken, known_dates(taken))
