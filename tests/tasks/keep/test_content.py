"""Rows as JSON and as tables: the same values both ways."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.keep.rows import frame_of, packed, seal_of, values_in

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(NUMBERS, st.integers(), st.text()), min_size=1, max_size=5))
def test_every_value_comes_back(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    values = values_in(frame)
    assert json.loads(packed(values)) == values
    assert values_in(frame_of(values)) == values


def test_missing_values_dates_and_flags():
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2026-01-02 03:04:05", None]),
            "flag": pd.array([True, None], dtype="boolean"),
            "text": ["x", None],
            "number": [np.nan, 0.1],
        }
    )
    values = values_in(frame)
    assert values == [
        {"day": "2026-01-02T03:04:05", "flag": True, "text": "x", "number": None},
        {"day": None, "flag": None, "text": None, "number": 0.1},
    ]
    back = frame_of(values, dates=["day"])
    assert str(back["day"].dtype).startswith("datetime64")
    assert values_in(back) == values


def test_the_seal_depends_on_values_alone():
    assert seal_of(packed({"a": 1.0, "b": 2})) == seal_of(packed({"b": 2, "a": 1.0}))
    assert seal_of(packed({"a": 1.0})) != seal_of(packed({"a": 1.5}))
