"""What is written comes back with its types; an environment scores finite numbers alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms import plain
from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import DivergedError, UsageError
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
    has = rf"a\.model has the format leaseboard-model {plain.VERSION}, and this"
    monkeypatch.setattr(plain, "VERSION", plain.VERSION + 1)
    with pytest.raises(UsageError, match=has):
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


LABELS = np.float32([1, -1, -1, 1, -1])
N = len(LABELS)
TASKS = ("regression", "classification")


def stream(task):
    return StreamEnvironment(Stream(np.zeros((N, 1), np.float32), LABELS, schema_of("x"), task))


def holdout(task):
    part = Part(np.zeros((N, 1), np.float32), LABELS)
    return HoldoutEnvironment(Holdout(part, part, ("x",), task))


EVERY = [
    (make, deed, task)
    for make, deed in ((stream, "record"), (holdout, "record"), (holdout, "submit"))
    for task in TASKS
]
"""Every method that takes predictions, by its environment, and of which task."""


def do(env, deed, given):
    return list(getattr(env, deed)(given) or ())


@pytest.mark.parametrize(
    "given", [LABELS[:, None], None, LABELS + 1j, LABELS.astype(object), LABELS.astype("m8[D]")]
)
def test_another_form_is_refused_in_one_line_and_changes_nothing(given):
    for make, deed, task in EVERY:
        env, fresh = make(task), make(task)
        with pytest.raises(
            ValueError, match=r"^predictions of .* and shape .*: give real numbers, one[^\n]*$"
        ):
            do(env, deed, given)
        do(env, deed, LABELS)
        do(fresh, deed, LABELS)
        assert repr(env.score()) == repr(fresh.score())


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e39])
def test_what_is_not_finite_diverges_in_every_task(value):
    given = LABELS.astype(np.float64)
    given[3] = value
    for make, deed, task in EVERY:
        with pytest.raises(DivergedError, match=r"of example 3 is -?(nan|inf): a model"):
            do(make(task), deed, given)
