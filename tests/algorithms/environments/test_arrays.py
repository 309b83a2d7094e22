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
    "holdout.record": (holdout, lambda env, given: list(env.record(given))),
    "holdout.submit": (holdout, lambda env, given: env.submit(given)),
}
"""Every method that takes predictions, and an environment to call it on."""

REFUSED = {
    "column": LABELS[:, None],
    "scalar": np.float32(1),
    "matrix": np.asmatrix(LABELS),
    "nothing": None,
    "complex": LABELS + 1j,
    "objects": LABELS.astype(object),
    "strings": ["yes", "no", "no", "yes", "no"],
    "days": LABELS.astype("m8[D]"),
}


EVERY = [(make, do, task) for make, do in DEEDS.values() for task in TASKS]


@pytest.mark.parametrize("form", REFUSED)
def test_another_form_is_refused_in_one_line_and_changes_nothing(form):
    given = REFUSED[form]
    for make, do, task in EVERY:
        env, fresh = make(task), make(task)
        with pytest.raises(
            ValueError, match=r"predictions of .* and shape .*: give real numbers, one"
        ) as refused:
            do(env, given)
        assert "\n" not in str(refused.value)
        do(env, LABELS)
        do(fresh, LABELS)
        assert repr(env.score()) == repr(fresh.score())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_finite_diverges_in_every_task(value):
    given = LABELS.astype(np.float64)
    given[3] = value
    for make, do, task in EVERY:
        with pytest.raises(DivergedError, match=r"of example 3 is -?(nan|inf): a model"):
            do(make(task), given)
