"""What is written comes back with its types, and nothing else is read."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.plain import fill, read, write

VALUES = {
    "number": 0.1 + 0.2,
    "large": 2**70,
    "nothing": None,
    "flags": [True, False],
    "nested": ({"a": (1, "b")}, [(), {}, set(), frozenset({1})]),
    "$tuple": "a key like a tag",
    "keys": {(1, 2): "tuple", 3: "number", None: "none"},
    "bytes": b"\0\xff",
    "scalars": [np.float32(0.1), np.int64(-3), np.bool_(True)],
}


def test_values_come_back_with_their_types(tmp_path):
    write(tmp_path / "file", VALUES, "mark")
    back = read(tmp_path / "file", "mark")

    assert back == VALUES
    assert repr(back) == repr(VALUES)


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3).T, np.array([np.nan, np.inf], np.float32), np.zeros(0)]
)
def test_arrays_come_back_bit_by_bit(array, tmp_path):
    write(tmp_path / "file", [array], "mark")
    (back,) = read(tmp_path / "file", "mark")

    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("value", [object(), 1j, np.array(["text"]), np.array([None]), print])
def test_what_is_not_plain_is_refused(value, tmp_path):
    with pytest.raises(UsageError, match="which is not saved: keep numbers"):
        write(tmp_path / "file", {"a": [value]}, "mark")


def test_another_format_is_refused(tmp_path):
    write(tmp_path / "file", 1, "mark-1")
    with pytest.raises(ValueError, match="format 'mark-1', not 'mark-2'"):
        read(tmp_path / "file", "mark-2")


class Part:
    def __init__(self):
        self.array, self.number = np.zeros(2), 0


@pytest.mark.parametrize(
    "state",
    [
        {"array": np.zeros(3), "number": 1},
        {"array": np.zeros(2, np.float32), "number": 1},
        {"array": [0.0, 0.0], "number": 1},
        {"array": np.ones(2), "number": 1.0},
        {"array": np.ones(2), "number": True},
    ],
)
def test_only_what_has_the_fresh_ones_shape_and_type_is_filled_in(state):
    with pytest.raises(ValueError, match=r"array|number"):
        fill(Part(), state, ["array", "number"])


def test_arrays_are_filled_in_place():
    part = Part()
    alias = part.array
    fill(part, {"array": np.ones(2), "number": 7}, ["array", "number"])

    assert alias.tolist() == [1.0, 1.0]
    assert part.number == 7
