"""Dictionaries become columns."""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.tables.features import BUCKETS, MOST_VALUES, FeatureMap

AGAIN = [lambda features: features, lambda features: FeatureMap.restored(features.state())]


def learned(*examples, **options):
    features = FeatureMap(**options)
    for example in examples:
        features = features.extended(features.unknown(features.values(example)))
    return features


def test_the_first_example_is_cut_into_ten_groups():
    schema = learned({f"f{i}": 1.0 for i in range(25)}).schema()

    assert schema.namespaces == tuple("abcdefghi")
    assert [len(columns) for columns in schema.columns] == [3] * 8 + [1]
    assert schema.features[:2] == ("f0", "f1")


@pytest.mark.parametrize("again", AGAIN)
def test_nested_examples_have_their_namespaces(again):
    first = {"age": 1.0, "shop": {"size": 3.0, "city": "x", "t": np.datetime64("2024-02-29T18")}}
    features = again(learned(first))
    later = {"shop": {"city": "new", "size": None}}
    features = again(features.extended(features.unknown(features.values(later))))
    schema = features.schema()
    found = dict(zip(schema.namespaces, schema.columns, strict=True))

    assert found.keys() == {"a", "shop"}
    assert len(found["shop"]) == 11
    assert schema.called == {"shop": "shop"}
    assert features.row(features.values({"shop": {"size": 5}})).max() == 5


def test_columns_begin_with_the_row_that_has_them_and_are_0_before():
    columns = {
        "x": np.array([math.nan, 2.0, 3.0]),
        "kind": np.array(["a", None, "b"], dtype=object),
        "when": np.array(["NaT", "2024-02-29", "2024-03-01T06"], dtype="datetime64[us]"),
    }
    features = FeatureMap()
    rows, begins = features.encode(columns)
    names = features.schema().features

    assert dict(zip(names, begins.tolist(), strict=True)) == {
        "kind=a": 0, "x": 1, "when_days": 1, "when_weekday=thursday": 1, "when_year_cosine": 1,
        "when_year_sine": 1, "when_day_of_week": 1, "kind=b": 2, "when_time_of_day": 2,
        "when_hour=6": 2, "when_weekday=friday": 2,
    }  # fmt: skip
    assert rows[:, names.index("kind=b")].tolist() == [0, 0, 1]
    assert rows[:, names.index("when_days")].tolist() == [0, 0, 1.25]


PLAIN = (1, 2.5, True, -0.0, np.float32(0.1), np.int64(3), "red", "green", "x=y", "", "new", "#3")
ODD = (
    None,
    math.nan,
    math.inf,
    10**400,
    np.datetime64("2024-02-29"),
    "w " * 200,
    b"red",
    {"x": 1},
)
NAMES = ("x", "y", "c", "c=red", "d=x", "d", 1, 2, "2", 1.0, True, "t", "t days", "x is missing")


@pytest.mark.parametrize("again", AGAIN)
def test_texts_that_share_columns_are_distinguished_by_one_more(again):
    texts = [f"town {n}" for n in range(300)]
    features = FeatureMap()
    rows, _ = features.encode({"town": np.array(texts, dtype=object)})
    features = again(features)
    code = features.schema().features.index("town#code")

    assert features.n_features == MOST_VALUES + BUCKETS + 2
    assert len({row.tobytes() for row in rows}) == 300
    assert not rows[:MOST_VALUES, code].any()
    assert ((rows[MOST_VALUES:, code] > 0) & (rows[MOST_VALUES:, code] <= 1)).all()
    assert not rows[:, code + 1].any()  # where effects are written
    for text, row in zip(texts, rows, strict=True):
        assert features.read_quickly({"town": text})
        assert features.example.tolist() == row.tolist()


@settings(max_examples=60)
@given(st.data())
def test_the_quick_way_never_reads_an_example_differently(data):
    """For any names and values, learned or not: the same numbers, or left to `values`."""
    example = st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from(PLAIN) | st.sampled_from(ODD), max_size=8
    )
    features = FeatureMap()
    features.few = 2
    most = data.draw(st.sampled_from([1, MOST_VALUES]))
    with mock.patch("leaseboard.algorithms.tables.features.MOST_VALUES", most):
        check_quick_reading(data, example, features)


def check_quick_reading(data, example, features):
    for learns in data.draw(st.lists(st.booleans(), min_size=2, max_size=12)):
        read = data.draw(example)
        quick = features.read_quickly(read)
        again = quick and features.example.tolist()
        try:
            values = features.values(read)
        except (TypeError, ValueError):
            assert not quick
            continue
        if quick:
            assert not features.unknown(values)
            assert features.row(values).tolist() == again
            assert features.read_quickly(read)  # learned after it was predicted
            assert features.read_quickly(read)
            assert features.example.tolist() == again
        if learns:
            features = features.extended(features.unknown(values))
            features.row(values, learns=True)
