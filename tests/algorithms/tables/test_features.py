"""Dictionaries become columns."""

import math
from contextlib import nullcontext
from enum import StrEnum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.environments.stream import Origin
from leaseboard.algorithms.tables.features import MOST_VALUES, FeatureMap
from leaseboard.algorithms.tables.values import LARGEST

DATE = np.datetime64("2024-02-29")
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


@pytest.mark.parametrize("again", AGAIN)
def test_all_that_is_made_of_a_declared_feature_is_in_its_namespace(again):
    first = {"city": "x", "t": np.datetime64("2024-02-29T18"), "age": 1.0, "z": 1.0, "y=u": 1.0}
    spaces = {"user": ["city", "age"], "time": ["t"], "other": ["y=u"]}
    features = again(learned(first, namespaces=spaces))
    for example in ({"city": "new", "t": np.datetime64("2024-03-01T06")}, {"age": None}):
        features = again(features.extended(features.unknown(features.values(first | example))))
    schema = features.schema()
    found = dict(zip(schema.namespaces, schema.columns, strict=True))
    names = {space: {schema.features[i] for i in columns} for space, columns in found.items()}

    assert names.pop("user") == {"age", "city=x", "city=new", "age_is_missing"}
    assert names.pop("other") == {"y=u"}
    assert names.pop("a") == {"z"}
    assert names.keys() == {"time"}
    assert len(found["time"]) == 7


def test_texts_booleans_and_missing_values():
    features = learned({"c": "red", "b": True, "m": None, "n": np.float32(2)})

    assert features.schema().features == ("b", "c=red", "n")
    assert features.row(features.values({"c": "blue", "b": False, "n": 1})).tolist() == [0, 0, 1]


def test_columns_are_in_the_order_of_names_whose_numbers_count():
    names = ["x10", "x9", "b", "10", "9", "x9y2", "x09", "c=" + "1" * 5000]
    order = ["9", "10", "b", "c=" + "1" * 5000, "x09", "x9", "x9y2", "x10"]

    for reported in (names, names[::-1]):
        assert learned(dict.fromkeys(reported, 1.0)).schema().features == tuple(order)
    nested = learned({"s10": {"y": 1.0, "x": 1.0}, "s9": {"z": 1.0}}).schema()
    assert (nested.namespaces, nested.features) == (("s9", "s10"), ("z", "x", "y"))


def test_what_means_something_in_vws_text_is_replaced():
    assert learned({"a b": {"x|y:z": 1.0}}).schema().features == ("x_y_z",)
    assert learned({"a b": {"x": 1.0}}).schema().namespaces == ("a_b",)


QUICK = [{"x": 3.5, "y": -2}, {"x": 1.0}, {"y": 2.5, "x": 0.5}, {"x": True, "y": 0.1},
         {"x": np.float64(0.1), "y": np.int8(3)}]  # fmt: skip
SLOW = [{"x": 1.0, "z": 1.0},
        {"x": 1.0, "y": 1.0, "z": 1.0},
        {"x": 1.0, "y": None},
        {"x": 1.0, "y": "2"},
        {"x": 1.0, "y": math.nan},
        {"x": 1.0, "y": -math.inf},
        {"x": math.inf, "y": -math.inf},
        {"x": 1.0, "y": 1e39},
        {"x": 1.0, "y": 10**400},
        {"x": 1.0, "y": {"z": 1.0}},
        {"x": 1.0, "y": np.complex64(1 + 2j)},
        {"x": np.complex128(1), "y": np.complex64(-1)},
        {"x": np.timedelta64(1, "h"), "y": np.timedelta64(2, "h")},
        {"x": 1, "y": np.timedelta64(2, "h")},
        {"x": 1.0, "y": LARGEST * (1 + 1e-9)},
        {},
        [1.0, 1.0]]  # fmt: skip


def test_the_quick_way_reads_the_same_and_leaves_everything_else_to_a_closer_look():
    features = learned({"x": 1.0, "y": 1.0})
    for example in QUICK:
        assert features.read_quickly(example)
        assert features.example.tolist() == features.row(features.values(example)).tolist()
    assert not any(map(features.read_quickly, SLOW))
    assert not FeatureMap().read_quickly({})


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


@settings(max_examples=300)
@given(st.data())
def test_the_quick_way_never_reads_an_example_differently(data):
    """For any names and values, learned or not: the same numbers, or left to `values`."""
    example = st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from(PLAIN) | st.sampled_from(ODD), max_size=8
    )
    features = FeatureMap()
    features.few = 2
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


@pytest.mark.parametrize("count", [1, 3])
def test_names_that_are_numbers_are_read_quickly_and_1_is_not_1_0(count):
    rows = [dict(enumerate(range(k, k + count))) for k in range(3)]
    features = learned(*rows)

    for row in rows:
        assert features.read_quickly(row)
        assert features.example.tolist() == list(row.values())
        floats = {float(name): value for name, value in row.items()}
        assert floats == row
        assert not features.read_quickly(floats)
        assert features.read_quickly({0: row[0]})
        assert features.example.tolist() == [row[0]] + [0] * (count - 1)
        assert not features.read_quickly({0.0: row[0]})
    mixed = {**rows[0], str(count - 1): 5.0}
    assert not features.read_quickly(mixed)
    with pytest.raises(ValueError, match="comes twice in an example"):
        features.values(mixed)


class Named(StrEnum):
    X = "x"
    RED = "red"


@pytest.mark.parametrize(
    ("equal", "refused"),
    [
        ({"x": "red", "y": 1 + 0j}, True),
        ({"x": "red", "y": np.array(1.0)}, True),
        ({"x": np.array(["red"]), "y": 1.0}, True),
        ({"x": Named.RED, "y": 1.0}, False),
        ({Named.X: "red", "y": 1.0}, False),
    ],
)
def test_what_equals_the_last_example_is_not_taken_for_it(equal, refused):
    last = {"x": "red", "y": 1.0}
    features = learned(last)

    assert features.read_quickly(last)
    assert not features.read_quickly(equal)
    with pytest.raises(TypeError) if refused else nullcontext():
        features.values(equal)


def test_a_text_is_read_quickly_only_where_it_has_the_column_to_itself():
    features = learned({"c": "d=x", "t": "red"}, {"t": "word " * 60})

    assert features.read_quickly({"c": "d=x"})
    assert not features.read_quickly({"c=d": "x"})
    assert not features.read_quickly({"t": "red"})  # a word now
    with pytest.raises(ValueError, match="'c=d=x' is also made of 'c'"):
        features.values({"c=d": "x"})


def test_texts_without_end_are_not_kept():
    features = learned(*({"id": f"user {i}"} for i in range(2 * MOST_VALUES)))
    for i in range(1000):
        example = {"id": f"user {i}"}
        if features.read_quickly(example):
            read = features.example.tolist()
            assert read == features.row(features.values(example)).tolist()

    assert len(features.reader.texts["id"]) == MOST_VALUES


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("value", [np.complex64(1 + 2j), 1j, np.timedelta64(1, "M")], ids=repr)
def test_what_is_not_a_number_is_refused_first_and_later(value):
    for features in (FeatureMap(), learned({"x": 1.0})):
        assert not features.read_quickly({"x": value})
        with pytest.raises(TypeError, match="must be a number, a text, a date"):
            features.values({"x": value})


FULL = dict.fromkeys("abcdefgh", 1.0)


@pytest.mark.parametrize("again", AGAIN)
def test_a_feature_named_like_an_indicator_is_ones_own_or_refused(again):
    own = again(learned(FULL | {"a is missing": 5.0}))
    made = again(learned(FULL, FULL | {"a": None}))

    assert own.values(FULL | {"a": None, "a is missing": 0.5})["", "a is missing"] == 0.5
    assert ("", "a is missing") not in own.values(FULL | {"a": None})
    assert own.absent(own.values(FULL)) == [("", "a is missing")]
    assert made.absent(made.values(FULL)) == []
    for value in (5.0, math.nan, None):
        for example in (FULL | {"a is missing": value}, {"a is missing": value}):
            assert not made.read_quickly(example)
            with pytest.raises(ValueError, match="'a is missing' is also made of 'a': rename one"):
                made.values(example)
    assert made.values({"other": {"a is missing": 5.0}})["other", "a is missing"] == 5.0


def test_an_own_feature_like_an_indicator_does_not_take_its_room():
    own = learned({f"x{i} is missing": 1.0 for i in range(8)} | FULL, FULL | {"a": None})

    assert own.schema().features[-1] == "a_is_missing"


@pytest.mark.parametrize("again", AGAIN)
def test_a_number_named_like_the_days_of_a_date_is_not_mixed_with_them(again):
    day = np.datetime64("2024-02-29")
    both = again(learned({"t": 1.0, "t days": 5.0}))

    assert both.values({"t": None, "t days": 3.0})["", "t days"] == 3.0
    with pytest.raises(ValueError, match="'t days' is also made of 't': rename one"):
        both.values({"t": day})
    with pytest.raises(ValueError, match="'t days' is also made of 't': rename one"):
        again(learned({"t": day})).values({"t days": 5.0})
    assert math.isnan(again(learned({"t": day})).values({"t": None})["", "t days"])


@pytest.mark.parametrize("again", AGAIN)
def test_features_named_like_texts_leave_the_texts_their_room(again):
    features = again(learned({f"city={i}": 1.0 for i in range(40)}))
    for i in range(MOST_VALUES + 1):
        new = features.unknown(features.values({"city": f"c{i}"}))
        features = again(features.extended(new))
        assert (("", f"city=c{i}") in new) == (i < MOST_VALUES)

    assert list(features.unknown(features.values({"other": {"city": "x"}}))) == [
        ("other", "city=x")
    ]


def test_a_text_of_a_name_with_an_equals_sign_is_counted_by_the_whole_name():
    features = learned(*({f"a={i}": "x"} for i in range(MOST_VALUES + 1)))

    assert features.unknown(features.values({"a": "x"})) == {("", "a=x"): Origin("a", "", "x")}


def test_what_each_feature_is_made_of_is_kept_for_people():
    first = {"when": np.datetime64("2024-02-29T18"), "shop": "n=1", "y=u": 1.0, "open days": 2.0}
    more = {**first, "open days": None, "a b": {"x": 1.0}, "a_b": {"y": 1.0}, "a": {"z": 1.0}}
    features = learned(first, {f"x{k}": 1.0 for k in range(4)}, more)
    schema = features.schema()
    again = FeatureMap.restored(features.state()).schema()

    assert {(one.column, one.part, one.value) for one in schema.origins[:8]} == {
        ("when", "hour", "18"),
        ("when", "weekday", "thursday"),
        ("when", "year sine", ""),
        ("when", "year cosine", ""),
        ("when", "days", ""),
        ("shop", "", "n=1"),
        ("y=u", "", ""),
        ("open days", "", ""),
    }
    assert Origin("open days", "missing") in schema.origins
    assert schema.called == {"a_b": "a b"}  # a is a group too
    assert (again.origins, again.called) == (schema.origins, schema.called)


def test_a_namespace_is_called_by_the_first_of_its_names_before_and_after_a_save():
    features = learned({"my ns": {"x": 1.0}}, {"my_ns": {"y": 1.0}}, {"my ns": {"z": 1.0}})
    again = FeatureMap.restored(features.state())

    assert again.schema().called == features.schema().called == {"my_ns": "my ns"}


@pytest.mark.parametrize("again", AGAIN)
def test_what_a_column_is_made_of_does_not_depend_on_what_comes_later(again):
    texts = again(learned({"t weekday": "9", "n": 1.0}))
    first = texts.schema().origins
    both = again(texts.extended(texts.unknown(texts.values({"t": DATE, "n": None}))))

    assert first == (Origin("n"), Origin("t weekday", "", "9"))
    assert both.schema().origins[:2] == first
    assert Origin("t", "weekday", "thursday") in both.schema().origins


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_text_and_a_part_of_a_date_share_no_column_in_different_examples(turn, again):
    first, second = ({"t weekday": "thursday"}, {"t": DATE})[::turn]
    features = again(learned(first))

    with pytest.raises(ValueError, match=r"'t weekday=thursday' is also made of 't.*': rename"):
        features.values(second)
    assert features.values(first)


def test_texts_and_the_parts_of_dates_have_room_of_their_own():
    features = learned(*({"t weekday": f"of {k}"} for k in range(MOST_VALUES)), {"t": DATE})

    assert "t_weekday=thursday" in features.schema().features
