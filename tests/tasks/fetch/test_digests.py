"""Digests: equal if and only if the content is."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

from leaseboard.tasks.fetch.dataset import digest_of

COLUMNS = {
    "number": st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))),
    "word": st.sampled_from(["u", "v", None]),
    "flag": st.booleans(),
}


@st.composite
def frames(draw) -> pd.DataFrame:
    kinds = {"word": pd.CategoricalDtype(["u", "v"])}
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(2, 4))
    return pd.DataFrame({
        name: pd.Series(draw(st.lists(COLUMNS[name], min_size=rows, max_size=rows)),
                        dtype=kinds.get(name))
        for name in names
    })  # fmt: skip


def digest(frame: pd.DataFrame, target=(1.5, 2.5), task: str = "regression") -> str:
    return digest_of(frame, pd.Series(target, name="y"), task)


def test_the_digest_is_pinned():
    frame = pd.DataFrame({
        "n": [1.5, np.nan], "i": [1, 2], "b": [True, False],
        "c": pd.Categorical(["u", None], categories=["v", "u"]),
        "t": pd.Series(["long", None], dtype=object),
    })  # fmt: skip

    assert digest(frame) == "b196d1cf83423047cb8f5781cf12538c"


@given(one=frames(), two=frames())
def test_equal_digests_mean_equal_content(one, two):
    same = list(one) == list(two) and one.equals(two)

    assert (digest(one) == digest(two)) == same


@given(frame=frames())
def test_a_copy_of_other_widths_has_the_same_digest(frame):
    assume("number" in frame)
    narrow = frame.assign(number=frame["number"].round().astype("float32"))

    assert digest(narrow) == digest(frame.assign(number=frame["number"].round()))


def test_what_changes_a_digest():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    changed = [
        frame[["b", "a"]],
        frame.rename(columns={"a": "c"}),
        frame.iloc[::-1],
        frame.assign(a=[1, 3]),
        frame.assign(a=["1", "2"]).astype({"a": "category"}),
        frame.assign(a=pd.Categorical(["1", "2"], categories=["2", "1"])),
        frame.assign(a=[True, False]),
    ]

    digests = [digest(frame), *map(digest, changed)]
    digests += [digest(frame, target=(1.5, 2.0)), digest(frame, task="classification")]

    assert len(set(digests)) == len(digests)


def test_equal_numbers_of_any_type_are_equal():
    frame = pd.DataFrame({"a": [0, 2]})

    assert (
        digest(frame) == digest(frame.astype("int8")) == digest(frame.astype("float64") * -1 * -1)
    )
    assert digest(frame) == digest(pd.DataFrame({"a": [-0.0, 2.0]}))
    large = pd.DataFrame({"a": [2**60, 2**60 + 1]})
    assert digest(large) != digest(pd.DataFrame({"a": [2**60, 2**60]}))
