"""Learners of frameworks behind the protocol of rows."""

import numpy as np
import pytest

from leaseboard.tasks.evaluate.framework_streams import LEARNERS
from tests.played import CLASSES, MeanOfLabels, asked_for, played


def test_a_label_is_read_after_its_prediction_was_written():
    model = MeanOfLabels()
    spent, reported = played(asked_for("regression", ("x1",)), model, [[0.5, 2, 3]] * 3, [4, 6, 1])

    assert reported[:, 0].tolist() == [0, 4, 5]
    assert model.seen[0] == ({"x0": 0.5, "x1": 2, "x2": 3}, 4)
    assert isinstance(model.seen[0][0]["x1"], int)  # a category, whose name has no point
    assert min(spent.values()) > 0


def test_labels_that_come_later_are_learned_by_their_own_rows():
    model = MeanOfLabels()
    rows = [[0.5, 2, row] for row in range(4)]
    _, reported = played(asked_for("regression"), model, rows, [4, 6, 1, 9], after=2)

    assert reported[:, 0].tolist() == [0, 0, 0, 4]
    assert [(row["x2"], label) for row, label in model.seen] == [(0, 4), (1, 6), (2, 1), (3, 9)]


def test_two_classes_are_reported_by_log_odds_and_more_by_probabilities():
    model = MeanOfLabels()
    _, two = played(asked_for("binary"), model, [[0, 0, 0]] * 5, [1, -1, -1, -1, 1])
    _, three = played(asked_for("classes"), MeanOfLabels(), [[0, 0, 0]] * 3, [0, 1, 2])

    assert [label for _, label in model.seen] == [True, False, False, False, True]
    assert two[[0, 2, 4], 0] == pytest.approx([0, 0, -np.log(3)])
    assert two[1, 0] > 30
    assert three.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]


def learnable(task, n=600):
    """Return rows of two numbers and a category, and labels that follow from them."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(5, 3, (n, 2)), rng.integers(0, 3, n)])
    wanted = rows[:, 0] - rows[:, 1] + 6 * (rows[:, 2] == 1)
    if task == "regression":
        return rows, wanted
    return rows, np.sign(wanted) if task == "binary" else np.digitize(wanted, [0, 4])


ONLY = {"amrules": "regression", "alma": "binary"}
ABLE = [
    (task, learner) for task in CLASSES for learner in LEARNERS if ONLY.get(learner, task) == task
]


@pytest.mark.parametrize(("task", "learner"), ABLE)
def test_every_learner_learns_numbers_and_categories(task, learner):
    asked = asked_for(task, ("x2",))
    rows, labels = learnable(task)
    _, reported = played(asked, LEARNERS[learner](asked), rows, labels)

    late = slice(300, None)
    if task == "regression":
        assert np.mean((reported[late, 0] - labels[late]) ** 2) < labels[late].var()
    elif task == "binary":
        assert np.mean((reported[late, 0] > 0) == (labels[late] > 0)) > 0.7
    else:
        assert np.mean(reported[late].argmax(axis=1) == labels[late]) > 0.5
        assert reported.sum(axis=1).max() <= 1 + 1e-9
