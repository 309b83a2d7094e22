"""An environment scores one finite number for each example and refuses all else."""

import numpy as np
import pytest

from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import DivergedError

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
