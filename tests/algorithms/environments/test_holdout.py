"""The hold-out environment: its split, its ledger, its two losses."""

import numpy as np
import pytest

from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.errors import DivergedError


def env(labels, test, classes=(), **options):
    parts = (
        Part(np.zeros((len(values), 1), np.float32), np.array(values, np.float32))
        for values in (labels, test)
    )
    return HoldoutEnvironment(Holdout(*parts, ("x",), "classification", classes), **options)


def test_the_curve_is_the_progressive_loss_and_the_score_the_test_error():
    one = env([1, -1, 1], [1, 1, -1, -1])

    points = [*one.record(np.float32([1, 1])), *one.record(np.float32([0.5]))]
    one.submit(np.float32([1, -1, -1, 1]))
    one.note({"degree": 2.0})

    assert [(p.at, p.value) for p in points] == [(1, 0.0), (2, 0.5), (3, 1 / 3)]
    score = one.score()
    assert (score.value, score.metric, score.direction) == (0.5, "test_error", "min")
    assert score.metrics == {"progressive": 1 / 3, "degree": 2.0}


def test_later_passes_count_but_do_not_enter_the_progressive_loss():
    one = env([1, -1], [1], passes=3)

    points = [*one.record(np.float32([-1, -1, 1])), *one.record(np.float32([1, 1, 1]))]

    assert one.at == one.budget == 6
    assert [(p.at, p.value) for p in points] == [(1, 1.0), (2, 0.5)]


def test_a_budget_below_a_pass_ends_the_curve_there():
    one = env([1, 1, 1, 1], [1], budget=3)

    points = list(one.record(np.float32([1, -1, -1])))

    assert [(p.at, p.value) for p in points] == [(1, 0.0), (2, 0.5), (3, 2 / 3)]


def test_of_many_classes_the_largest_number_says_which():
    one = env([0, 2], [1, 2, 0], tuple("abc"))
    points = [*one.record(np.float32([[1, -1, -1], [0.5, -1, 0.25]]))]
    one.submit(np.float32([[0, 1, 0], [0, 0, 1], [0, 0, 1]]))

    assert [(p.at, p.value) for p in points] == [(1, 0.0), (2, 0.5)]
    score = one.score()
    assert (score.value, score.metric) == (1 / 3, "test_error")
    for wrong in (np.zeros(2), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="a number for each of 3 classes"):
            list(env([0, 2], [1, 2, 0], tuple("abc")).record(wrong))
    with pytest.raises(ValueError, match="2 predictions of 3 examples"):
        env([0, 2], [1, 2, 0], tuple("abc")).submit(np.zeros((2, 3)))
    with pytest.raises(DivergedError, match=r"example 1 is \[ 0. inf  0.\]"):
        list(env([0, 2], [1], tuple("abc")).record(np.float32([[0, 0, 0], [0, np.inf, 0]])))
