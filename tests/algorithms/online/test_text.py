"""VW's text format: the compiled parser reads what the installed wheel reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vowpalwabbit import Workspace

from algorithms.chacha.streaming import ChaChaRegressor
from algorithms.online.features import FeatureMap
from algorithms.online.text import read_text


def read(text):
    return read_text(text, FeatureMap())


def value_of(token):
    block, _ = read(f"0 |a x:{token} y:1")
    return block.rows[0, 0]


numbers = st.one_of(
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.floats(1e-30, 1e3).map(repr),
    st.floats(1e-30, 1e30).map(repr),
    st.floats(1e-12, 1e12).map("{:.4e}".format),
    st.integers(-(10**11), 10**11).map(str),
    st.floats(-1e6, 1e6, width=32).map(float.hex),
    st.floats(1e-44, 1e-20).map(repr),
    st.sampled_from(["0", "-0", ".5", "-.25", "5.", "+3", "1e-37", "1e-38", "0.1e-37", "3e38"]),
    st.sampled_from(["007", "2.1343964190718153e-23", "1234567890123456e-45", "12e-50"]),
)


def test_numbers_are_those_of_the_wheel():
    with Workspace(arg_list=["--quiet"]) as workspace:

        @settings(max_examples=400)
        @given(token=numbers, tail=st.sampled_from(["", " ", "\t", "|b z", " |b z"]))
        def check(token, tail):
            example = workspace.parse(f"0 |a x:{token}{tail}")
            theirs = example.feature_weight("a", 0) if example.num_features_in("a") else 0.0
            workspace.finish_example(example)
            block, _ = read(f"0 |a x:{token}{tail}")

            assert block.rows[0, 0] == np.float32(theirs)

        check()


@pytest.mark.parametrize(
    ("line", "label", "importance"),
    [
        ("1 |a x", 1, 1),
        ("-2.5 3 |a x", -2.5, 3),
        ("1 2 'tag|a x", 1, 2),
        ("1 2 tag|a x", 1, 2),
        ("1 'tag |a x", 1, 1),
        ("|a x", np.nan, 1),
        ("-1|a x", np.nan, 1),
        ("tag|a x", np.nan, 1),
        ("  1\t0.5  |a x\r", 1, 0.5),
    ],
)
def test_what_stands_before_the_first_bar(line, label, importance):
    block, _ = read(line)

    assert block.labels.tolist() == pytest.approx([label], nan_ok=True)
    assert block.importances.tolist() == [importance]
    assert block.rows.tolist() == [[1.0]]


def test_namespaces_scales_and_nameless_features():
    block, features = read("1 |a:2 x:3 y |long_name x:0.5 | :4 :5 z")
    schema = features.schema()

    assert schema.namespaces == ("a", "long_name", " ")
    assert schema.features == ("x", "y", "x", "0", "1", "z")
    assert block.rows.tolist() == [[6, 2, 0.5, 4, 5, 1]]


def test_blank_lines_and_later_features():
    block, features = read("1 |a x:1\n\n2 |a y:2\n3 |b x:3\n")

    assert block.labels.tolist() == [1, 2, 3]
    assert block.rows.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    assert features.n_features == 3


def test_thousands_of_names():
    text = "\n".join(f"{i} |a f{i}:1 f{i + 1}:2" for i in range(3000))
    block, features = read(text)

    assert features.n_features == 3001
    assert block.rows.sum() == 9000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 |a x\n1 no bar", "line 2 is not in VW's text format at '1 no bar'"),
        ("one |a x", "'one' is no number"),
        ("1 |a x:abc", "'abc' is no number"),
        ("1 |a x:", "no number"),
        ("1 |a x:inf", "not finite"),
        ("1 |a x:nan", "not finite"),
        ("1 -2 |a x", "line 1 is not in VW's text format"),
        ("1 2 3 |a x", "line 1 is not in VW's text format"),
        ("1 |a x:1 x:2", "example 1 has a feature twice"),
    ],
)
def test_what_is_not_in_the_format_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.parametrize("separator", [" |", "|"])
def test_learning_from_text_is_vws_own_learning(separator):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        x = rng.normal(size=4)
        groups = separator.join(
            f"{name} {i}:{v:.6f}" for i, (name, v) in enumerate(zip("abcd", x, strict=True))
        )
        lines.append(f"{x[0] + x[1] * x[2]:.6f} |{groups}")
    forecasts = ChaChaRegressor(algorithm="chacha-paper", b=1).learn_text("\n".join(lines))
    expected = []
    with Workspace(arg_list=["--quiet"]) as workspace:
        for line in lines:
            expected.append(workspace.predict(line))
            workspace.learn(line)

    assert forecasts.tolist() == expected


def test_a_failed_text_changes_nothing():
    model = ChaChaRegressor(algorithm="chacha-paper")
    model.learn_text("1 |a x:1")
    for text in ("2 |a y:1\n|a x:1", "2 |a y:1\nthree"):
        with pytest.raises(ValueError, match=r"no label|format"):
            model.learn_text(text)

    assert model.examples == 1
    assert model.predict_one({"a": {"x": 1.0}}) != 0
    assert model._features.n_features == 1
