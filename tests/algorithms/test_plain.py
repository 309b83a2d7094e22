"""What is written comes back with its types, and nothing else is read."""

from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.plain import dump, load

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


def test_values_come_back_with_their_types():
    kind, back = load(dump("mark", VALUES), "a.model")

    assert (kind, back) == ("mark", VALUES)
    assert repr(back) == repr(VALUES)


def test_arrays_come_back_bit_by_bit():
    rows = np.arange(6.0).reshape(2, 3).T
    for array in (rows, np.array([np.nan, np.inf], np.float32), np.zeros(0)):
        (back,) = load(dump("mark", [array]), "a.model")[1]
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_what_is_not_plain_is_refused():
    for value in (object(), 1j, np.array(["text"]), np.array([None]), print):
        with pytest.raises(UsageError, match="which is not saved: keep numbers"):
            dump("mark", {"a": [value]})


def test_another_version_and_a_damaged_file_are_refused(monkeypatch):
    content = dump("mark", 1)
    with pytest.raises(UsageError, match=r"a\.model is not a model of the format"):
        load(content[:-30], "a.model")
    monkeypatch.setattr(plain, "VERSION", plain.VERSION + 1)
    with pytest.raises(UsageError, match=r"a\.model has the format leaseboard-model 9, and this"):
        load(content, "a.model")


def test_a_list_of_arrays_is_set_by_arrays_of_its_shape_alone():
    part = SimpleNamespace(copies=[np.zeros(3)])
    given = [np.arange(3.0), np.ones(3)]
    plain.fill(part, {"copies": given}, ["copies"])
    given[0][:] = 9.0

    assert [each.tolist() for each in part.copies] == [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    for wrong in ([np.zeros(2)], [np.zeros(3, np.float32)], [1.0]):
        with pytest.raises(ValueError, match="no array of float64"):
            plain.fill(part, {"copies": wrong}, ["copies"])
