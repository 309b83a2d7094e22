"""Tables: encodings fitted on training rows alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.errors import DataError
from tasks.fetch.dataset import Dataset
from tasks.preprocess import as_arrays, fit

TRAIN = np.array([0, 1, 2])


def dataset(**columns: object) -> Dataset:
    target = pd.Series([0.5, 1.5, 2.5, 3.5], name="y")
    return Dataset("test", "test", pd.DataFrame(columns), target, "regression", "")


COLOURS = pd.Categorical(["red", "green", "red", "blue"], categories=["green", "blue", "red"])


def test_missing_numbers_are_the_median_of_the_training_rows():
    data = dataset(a=[1.0, np.nan, 4.0, 100.0])

    imputed = as_arrays(data, TRAIN)
    kept = as_arrays(data, TRAIN, missing="keep")

    assert imputed.X[:, 0].tolist() == [1.0, 2.5, 4.0, 100.0]
    assert np.isnan(kept.X[1, 0])
    assert imputed.X.dtype == np.float32
    assert imputed.X.flags.c_contiguous


def test_booleans_are_numbers():
    assert as_arrays(dataset(b=[True, False, True, True]), TRAIN).X[:, 0].tolist() == [1, 0, 1, 1]


def test_one_hot_columns_are_the_categories_of_the_training_rows():
    arrays = as_arrays(dataset(c=COLOURS), TRAIN)

    assert arrays.names == ("c=green", "c=red")
    assert arrays.X.tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]
    assert arrays.nominal == ()


def test_ordinal_codes_number_the_categories_of_the_training_rows():
    data = dataset(a=[1, 2, 3, 4], c=COLOURS)

    arrays = as_arrays(data, TRAIN, nominal="ordinal")
    kept = as_arrays(data, TRAIN, nominal="ordinal", missing="keep")

    assert arrays.X[:, 1].tolist() == [1, 0, 1, -1]
    assert arrays.nominal == (1,)
    assert np.isnan(kept.X[3, 1])


def test_targets_are_codes_or_numbers():
    target = pd.Series(pd.Categorical(["b", "a", "b", "a"]))
    data = Dataset("t", "t", pd.DataFrame({"a": [1, 2, 3, 4]}), target, "classification", "")

    assert as_arrays(data, TRAIN).y.tolist() == [1, 0, 1, 0]
    assert as_arrays(dataset(a=[1, 2, 3, 4]), TRAIN).y.tolist() == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("column", "message"),
    [([1.0, np.inf, 2.0, 3.0], "infinite"), (["a", "b", "c", "d"], "free text")],
)
def test_a_table_refuses_what_it_cannot_take(column, message):
    values = pd.Series(column, dtype=None if message == "infinite" else object)

    with pytest.raises(DataError, match=f"column 'bad'.*{message}"):
        as_arrays(dataset(bad=values), TRAIN)


numbers = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), min_size=4, max_size=4)
labels = st.lists(st.sampled_from(["u", "v", "w", None]), min_size=4, max_size=4)


@given(
    a=numbers,
    b=labels,
    other_a=numbers,
    other_b=labels,
    nominal=st.sampled_from(["one-hot", "ordinal"]),
    missing=st.sampled_from(["impute", "keep"]),
)
def test_rows_outside_training_never_change_the_encoding(a, b, other_a, other_b, nominal, missing):
    other_a, other_b = a[:3] + other_a[3:], b[:3] + other_b[3:]
    kinds = ["u", "v", "w"]
    first = dataset(a=a, b=pd.Categorical(b, categories=kinds))
    other = dataset(a=other_a, b=pd.Categorical(other_b, categories=kinds))

    one = fit(first, TRAIN, nominal=nominal, missing=missing)
    two = fit(other, TRAIN, nominal=nominal, missing=missing)

    assert one.names == two.names
    np.testing.assert_array_equal(one.transform(first.features), two.transform(first.features))
    same = (one.transform(first.features)[:3], two.transform(other.features)[:3])
    np.testing.assert_array_equal(*same)
