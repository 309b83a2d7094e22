"""Dictionaries become columns."""

import math

import numpy as np
import pytest

from algorithms.online.features import FeatureMap


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


def test_a_later_feature_joins_the_smallest_group():
    schema = learned({"x": 1.0, "y": 1.0}, {"z": 1.0}, {"u": 1.0}).schema()

    assert dict(zip(schema.namespaces, schema.columns, strict=True)) == {"a": (0, 2), "b": (1, 3)}


def test_declared_and_nested_namespaces():
    features = learned(
        {"age": 1.0, "price": 2.0, "shop": {"size": 3.0}}, namespaces={"user": ["age"]}
    )
    schema = features.schema()

    assert schema.namespaces == ("user", "a", "shop")
    assert features.row(features.values({"shop": {"size": 5}})).tolist() == [0, 0, 5]


def test_texts_booleans_and_missing_values():
    features = learned({"c": "red", "b": True, "m": None, "n": np.float32(2)})

    assert features.schema().features == ("b", "c=red", "n")
    assert features.row(features.values({"c": "blue", "b": False, "n": 1})).tolist() == [0, 0, 1]


def test_columns_are_in_the_order_of_names_whose_numbers_count():
    names = ["x10", "x9", "b", "10", "9", "x9y2", "x09", "c=" + "1" * 5000]
    order = ["9", "10", "b", "c=" + "1" * 5000, "x09", "x9", "x9y2", "x10"]

    for told in (names, names[::-1]):
        assert learned(dict.fromkeys(told, 1.0)).schema().features == tuple(order)
    nested = learned({"s10": {"y": 1.0, "x": 1.0}, "s9": {"z": 1.0}}).schema()
    assert (nested.namespaces, nested.features) == (("s9", "s10"), ("z", "x", "y"))


def test_what_means_something_in_vws_text_is_replaced():
    assert learned({"a b": {"x|y:z": 1.0}}).schema().features == ("x_y_z",)
    assert learned({"a b": {"x": 1.0}}).schema().namespaces == ("a_b",)


@pytest.mark.parametrize(
    "example",
    [
        {"x": 3.5, "y": -2},
        {"y": 2.5, "x": 0.5},
        {"x": True, "y": 0.1},
        {"x": np.float64(0.1), "y": np.int8(3)},
    ],
    ids=str,
)
def test_the_quick_way_reads_the_same(example):
    features = learned({"x": 1.0, "y": 1.0})

    assert features.read_quickly(example)
    assert features.example.tolist() == features.row(features.values(example)).tolist()


@pytest.mark.parametrize(
    "example",
    [
        {"x": 1.0},
        {"x": 1.0, "z": 1.0},
        {"x": 1.0, "y": 1.0, "z": 1.0},
        {"x": 1.0, "y": None},
        {"x": 1.0, "y": "2"},
        {"x": 1.0, "y": math.nan},
        {"x": 1.0, "y": -math.inf},
        {"x": math.inf, "y": -math.inf},
        {"x": 1.0, "y": 1e39},
        {"x": 1.0, "y": 10**400},
        {"x": 1.0, "y": {"z": 1.0}},
        [1.0, 1.0],
    ],
    ids=str,
)
def test_the_quick_way_leaves_everything_else_to_a_closer_look(example):
    assert not learned({"x": 1.0, "y": 1.0}).read_quickly(example)


def test_nothing_is_quick_before_anything_is_known():
    assert not FeatureMap().read_quickly({})
