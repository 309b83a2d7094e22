"""What a caller sends is read as the number that it is, or refused in one line."""

import numpy as np
import pandas as pd
import pytest

from tasks.models import columns

DATA = pd.DataFrame(
    {"tiny": np.array([1, 2], np.uint8), "x": np.array([0.5, 1], np.float32), "b": [True, False]}
)


def read(name, values):
    known = columns.describe(DATA[[name]])
    return columns.typed(pd.DataFrame({name: values}), known)[name].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([40000, -1], [40000, -1]),
        ([3.0, 4.0], [3, 4]),
        (["3", "4"], [3, 4]),
        ([2**63 - 1], [2**63 - 1]),
        (pd.array([7], dtype="Int64"), [7]),
        (np.array([9], np.uint64), [9]),
    ],
)
def test_an_integer_beyond_the_datas_own_width_stays_what_it_is(values, expected):
    assert read("tiny", values) == expected


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("tiny", [1, 2.7], "column 'tiny': 2.7 in row 1 must be an integer of 64 bits"),
        ("tiny", [1, None], "nan in row 1 must be an integer"),
        ("tiny", pd.array([1, None], dtype="Int64"), "<NA> in row 1 must be an integer"),
        ("tiny", [np.inf], "inf in row 0 must be an integer"),
        ("tiny", np.array([2**63], np.uint64), "9223372036854775808 in row 0"),
        ("tiny", ["a"], "column 'tiny' must be integer: "),
        ("x", [1.0, 1e39], r"column 'x': 1e\+39 in row 1 must be finite as a float32"),
        ("x", pd.to_datetime(["2026-11-21"]), "column 'x' must be real: give seconds since 1970"),
        ("b", ["False"], "column 'b': False in row 0 must be true or false, not a str"),
        ("b", [0, 1], "column 'b': 0 in row 0 must be true or false"),
        ("b", [True, None], "None in row 1 must be true or false"),
    ],
)
def test_what_is_not_of_its_columns_kind_is_refused(name, values, message):
    with pytest.raises(ValueError, match=message):
        read(name, values)


def test_reals_and_booleans_are_read_as_the_data_has_them():
    assert read("x", [None, 2]) == pytest.approx([np.nan, 2], nan_ok=True)
    assert read("b", pd.Series([True, False], dtype=object)) == [True, False]
    assert read("b", pd.array([True], dtype="boolean")) == [True]
