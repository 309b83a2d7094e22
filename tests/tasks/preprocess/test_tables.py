"""The encoder of tables: fitted on training rows alone, and a transformer for scikit-learn."""

from __future__ import annotations

import pickle
import tracemalloc

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
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess import CODE, INDICATOR
from leaseboard.tasks.preprocess.tables import WIDEST, TableEncoder, labels_of, refuse_text

TRAIN = np.array([0, 1, 2])
COLOURS = pd.Categorical(["red", "green", "red", "blue"], categories=["green", "blue", "red"])


def encoded(scale="none", **columns: object):
    """Return all rows, encoded by the first three."""
    frame = pd.DataFrame(columns)
    return TableEncoder(scale).fit(frame.iloc[TRAIN]).transform(frame)


def dataset(target, **columns):
    return Dataset("test", "test", pd.DataFrame(columns), pd.Series(target), "", "")


def test_missing_numbers_are_the_median_of_the_training_rows():
    X = encoded(a=[1.0, np.nan, 4.0, 100.0], empty=[np.nan] * 3 + [5.0])

    assert X.tolist() == [[1.0, 0.0], [2.5, 0.0], [4.0, 0.0], [100.0, 5.0]]
    assert X.dtype == np.float32
    assert X.flags.c_contiguous


def test_one_hot_features_are_the_categories_of_the_training_rows_in_declared_order():
    assert encoded(c=COLOURS).tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]


def test_strings_are_categories_in_sorted_order_and_gaps_are_zeros():
    X = encoded(c=pd.Series(["u", "b", None, "new"], dtype=object))

    assert X.tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]


def test_codes_are_places_after_all_features_of_columns_with_three_categories_and_more():
    frame = pd.DataFrame(
        {"c": ["u", "b", "x"], "two": ["n", "y", "n"], "a": [1.0, 2.0, 3.0], "none": [None] * 3}
    )
    encoder = TableEncoder(codes=True).fit(frame)
    X = encoder.transform(frame.assign(c=["x", None, "new"]))

    assert encoder.kinds_.tolist() == [INDICATOR] * 3 + [0] * 3 + [CODE]
    assert X[:, -1].tolist() == [2, -1, -1]
    assert X[:, :-1].tolist() == TableEncoder().fit(frame).transform(
        frame.assign(c=["x", None, "new"])
    ).tolist()  # fmt: skip


def test_categories_are_known_by_their_label_however_they_are_declared():
    fitted = TableEncoder().fit(pd.DataFrame({"c": COLOURS}).iloc[TRAIN])
    others = pd.Categorical(["red", "pink"], categories=["red", "pink", "green"])

    assert fitted.transform(pd.DataFrame({"c": others})).tolist() == [[0, 1], [0, 0]]
    assert fitted.transform(pd.DataFrame({"c": ["green", None]})).tolist() == [[1, 0], [0, 0]]


def test_standard_features_have_mean_0_and_variance_1_on_the_training_rows():
    X = encoded("standard", a=[1.0, 2.0, 3.0, 9.0], c=COLOURS, same=[0.1, 0.1, 0.1, 0.2])

    assert X[TRAIN].mean(axis=0) == pytest.approx(0, abs=1e-6)
    assert X[TRAIN].std(axis=0) == pytest.approx([1, 1, 1, 0], abs=1e-6)
    assert X[3].tolist() == pytest.approx([8.573214, -0.707107, -1.414214, 0.1])


def test_a_value_far_beyond_a_tiny_spread_stays_finite():
    X = encoded("standard", a=[0.0, 1e-109, 0.0, 1.0])

    assert X[3, 0] == np.finfo(np.float32).max


def test_a_small_spread_of_large_numbers_is_not_lost():
    moments = 1.6e9 + np.array([0.0, 1.0, 2.0, 3.0])

    assert np.diff(encoded("standard", t=moments)[:, 0]) == pytest.approx(1.2247449)


def test_targets_are_codes_or_numbers():
    classes = dataset(pd.Categorical(["b", "a", "b", "a"]))

    assert labels_of(
        Dataset("t", "t", classes.features, classes.target, "classification", "")
    ).tolist() == [1, 0, 1, 0]
    assert labels_of(
        Dataset("t", "t", pd.DataFrame(), pd.Series([0.5, 1]), "regression", "")
    ).tolist() == [0.5, 1]


def test_a_table_refuses_what_it_cannot_take():
    with pytest.raises(
        DataError, match="column 'bad' holds numbers that are finite in 32 bits, and"
    ):
        encoded(bad=[1.0, 2.0, 3.0, np.inf])
    with pytest.raises(DataError, match="column 'bad' holds free text"):
        refuse_text(dataset([1.0], bad=pd.Series(["a"], dtype=object)))


def test_scikit_learn_takes_it_for_a_transformer(tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 4.0, 2.0], "c": COLOURS})
    copy = clone(TableEncoder("standard"))
    model = make_pipeline(copy, LinearRegression()).fit(frame, [0.0, 1.0, 2.0, 3.0])
    skops.io.dump(copy, tmp_path / "saved")
    (trusted,) = skops.io.get_untrusted_types(file=tmp_path / "saved")

    assert copy.get_params() == {"scale": "standard", "codes": False}
    assert model.predict(frame) == pytest.approx([0.0, 1.0, 2.0, 3.0], abs=1e-5)
    for again in (
        skops.io.load(tmp_path / "saved", trusted=[trusted]),
        pickle.loads(pickle.dumps(copy)),
        clone(copy).fit(frame),
    ):
        np.testing.assert_array_equal(again.transform(frame), copy.transform(frame))


numbers = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), min_size=4, max_size=4)
labels = st.lists(st.sampled_from(["u", "v", "w", None]), min_size=4, max_size=4)


@given(a=numbers, b=labels, other_a=numbers, other_b=labels,
       scale=st.sampled_from(["none", "standard"]))  # fmt: skip
def test_rows_outside_training_never_change_the_encoding(a, b, other_a, other_b, scale):
    kinds = ["u", "v", "w"]
    one = pd.DataFrame({"a": a, "b": pd.Categorical(b, categories=kinds)})
    two = pd.DataFrame(
        {"a": a[:3] + other_a[3:], "b": pd.Categorical(b[:3] + other_b[3:], categories=kinds)}
    )
    fitted, other = (TableEncoder(scale).fit(f.iloc[TRAIN]) for f in (one, two))

    for frame in (one, two):
        np.testing.assert_array_equal(fitted.transform(frame), other.transform(frame))


def test_more_categories_than_features_share_them_in_little_memory():
    names = [f"title {i}" for i in range(3 * WIDEST)] * 2
    rows = pd.DataFrame({"name": names, "size": np.arange(len(names), dtype=np.float64)})
    tracemalloc.start()
    encoder = TableEncoder("standard").fit(rows)
    features = encoder.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert features.shape == (len(rows), WIDEST + 1)
    assert peak < 4 * len(rows) * WIDEST * 8
    order = np.unique(names, return_inverse=True)[1]
    assert np.array_equal(features[:, :-1].argmax(axis=1), order % WIDEST)
    assert (encoder.transform(rows.assign(name="unseen"))[:, :-1] < 0).all()
