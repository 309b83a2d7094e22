"""An environment scores one finite number for each example and refuses all else."""

import numpy as np
import pytest

from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import DivergedError

LABELS = np.float32([1, -1, -1, 1, -1])
N = len(LABELS)
TASKS = ("regression", "classification")


def stream(task):
    return StreamEnvironment(Stream(np.zeros((N, 1), np.float32), LABELS, (), ("x",), task))


def holdout(task):
    part = Part(np.zeros((N, 1), np.float32), LABELS)
    return HoldoutEnvironment(Holdout(part, part, ("x",), task))


DEEDS = {
    "stream.record": (stream, lambda env, given: list(env.record(given))),
    "stream.loss": (stream, lambda env, given: env.loss(given)),
    "holdout.record": (holdout, lambda env, given: list(env.record(given))),
    "holdout.submit": (holdout, lambda env, given: env.submit(given)),
}
"""Every method that takes predictions, and an environment to call it on."""

REFUSED = {
    "column": (LABELS[:, None], r"shape \(5, 1\): give one number for each example"),
    "row": (LABELS[None], r"shape \(1, 5\): give one"),
    "scalar": (np.float32(1), r"shape \(\): give one"),
    "matrix": (np.asmatrix(LABELS), r"shape \(1, 5\): give one"),
    "nothing": (None, r"shape \(\): give one"),
    "complex": (LABELS + 1j, "dtype complex64: give real numbers"),
    "objects": (LABELS.astype(object), "dtype object: give real numbers"),
    "strings": (["yes", "no", "no", "yes", "no"], "dtype <U3: give real numbers"),
    "digits": (["1", "-1", "-1", "1", "-1"], "dtype <U2: give real numbers"),
    "days": (LABELS.astype("m8[D]"), "give real numbers"),
}

TAKEN = {
    "list": LABELS.tolist(),
    "double": LABELS.astype(np.float64),
    "half": LABELS.astype(np.float16),
    "integers": LABELS.astype(np.int8),
    "swapped": LABELS.astype(">f4"),
    "strided": np.repeat(LABELS, 2)[::2],
}


EVERY = [(make, do, task) for make, do in DEEDS.values() for task in TASKS]


@pytest.mark.parametrize("form", REFUSED)
def test_another_form_is_refused_in_one_line_and_changes_nothing(form):
    given, words = REFUSED[form]
    for make, do, task in EVERY:
        env, fresh = make(task), make(task)
        with pytest.raises(ValueError, match=words) as refused:
            do(env, given)
        assert "\n" not in str(refused.value)
        do(env, LABELS)
        do(fresh, LABELS)
        assert repr(env.score()) == repr(fresh.score())


def test_numbers_of_any_kind_are_scored_alike():
    for make, do, task in EVERY:
        environments = [make(task) for _ in (*TAKEN, LABELS)]
        for env, given in zip(environments, (*TAKEN.values(), LABELS), strict=True):
            do(env, given)
        assert len({repr(env.score()) for env in environments}) == 1


def test_a_boolean_is_whether_it_is_the_positive_class():
    env = stream("classification")
    list(env.record([True, False, False, True, True]))

    assert env.score().value == 0.2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_finite_diverges_in_every_task(value):
    given = LABELS.astype(np.float64)
    given[3] = value
    for make, do, task in EVERY:
        with pytest.raises(DivergedError, match=r"of example 3 is -?(nan|inf): a model"):
            do(make(task), given)


def test_the_example_is_counted_from_the_first_of_all():
    for env in (stream("classification"), holdout("classification")):
        list(env.record(LABELS[:2]))
        with pytest.raises(DivergedError, match="of example 4 is nan"):
            list(env.record(np.float32([1, 1, np.nan])))


def test_each_test_row_is_predicted():
    with pytest.raises(ValueError, match="4 predictions of 5 examples: give one for each"):
        holdout("regression").submit(LABELS[:4])


def test_nothing_is_recorded_of_no_example():
    for env in (stream("regression"), holdout("regression")):
        assert not list(env.record([]))
        assert env.at == 0
