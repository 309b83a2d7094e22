"""What a policy may choose, and what is said of anything else."""

import re

import numpy as np
import pytest

from leaseboard.algorithms.errors import BrokenPromiseError
from leaseboard.algorithms.policies.policy import ArmPolicy, Problem, chosen

RUNS, ARMS = 3, 4


class Chooser:
    """Stands for the class of a policy."""


@pytest.mark.parametrize(
    "choice",
    [
        np.array([0, 3, 1]),
        np.array([0, 3, 1], dtype=np.uint8),
        np.array([0, 3, 1], dtype=np.int32),
        [0, 3, 1],
    ],
)
def test_integers_from_0_to_k_are_taken_as_they_are(choice):
    taken = chosen(choice, RUNS, ARMS, Chooser)

    assert taken.tolist() == [0, 3, 1]
    assert taken is choice or isinstance(choice, list)


@pytest.mark.parametrize(
    ("choice", "gave"),
    [
        (np.array([0, 4, 1]), "4"),
        (np.array([0, -1, 9]), "-1"),
        (np.array([0, -1, 1], dtype=np.int8), "-1"),
        (np.array([0, 2**64 - 1, 1], dtype=np.uint64), "18446744073709551615"),
        (np.array([0.0, 1.0, 2.0]), "float64 of shape (3,)"),
        (np.array([True, False, True]), "bool of shape (3,)"),
        (np.array([0, 1, None]), "object of shape (3,)"),
        (np.zeros((3, 2), dtype=np.intp), "int64 of shape (3, 2)"),
        (np.zeros(1, dtype=np.intp), "int64 of shape (1,)"),
        (np.zeros(0, dtype=np.intp), "int64 of shape (0,)"),
        (3, "3"),
        (None, "None"),
        ("arm", "'arm'"),
        ([[0], [1, 2], 3], "[[0], [1, 2], 3]"),
        (list(range(99)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, …"),
    ],
)
def test_anything_else_is_told_with_the_rule_and_the_class(choice, gave):
    told = (
        f"`_choose` of {__name__}:Chooser gave {gave}:"
        " return integers of shape (3,), an arm of 0..3 for each run"
    )
    with pytest.raises(BrokenPromiseError, match=f"^{re.escape(told)}$"):
        chosen(choice, RUNS, ARMS, Chooser)


class Forgetful(ArmPolicy):
    """Has a policy and does not return it."""

    def policy(self, problem, rng):
        pass


def test_a_policy_that_is_none_is_told():
    with pytest.raises(BrokenPromiseError, match=r":Forgetful gave None: return a Policy$"):
        Forgetful().start(Problem(ARMS, 10.0), 0)
