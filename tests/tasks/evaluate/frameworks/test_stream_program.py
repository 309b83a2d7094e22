import numpy as np
import pytest

from tests.played import MeanOfLabels, asked_for, played


def test_a_label_is_read_after_its_prediction_was_written():
    model = MeanOfLabels()
    spent, reported = played(asked_for("regression", ("x1",)), model, [[0.5, 2, 3]] * 3, [4, 6, 1])

    assert reported[:, 0].tolist() == [0, 4, 5]
    assert model.seen[0] == ({"x0": 0.5, "x1": 2, "x2": 3}, 4)
    assert isinstance(model.seen[0][0]["x1"], int)  # a category, whose name has no point
    assert min(spent) > 0


def test_two_classes_are_reported_by_log_odds():
    model = MeanOfLabels()
    _, reported = played(asked_for("binary"), model, [[0, 0, 0]] * 5, [1, -1, -1, -1, 1])

    assert [label for _, label in model.seen] == [True, False, False, False, True]
    assert reported[[0, 2, 4], 0] == pytest.approx([0, 0, -np.log(3)])
    assert reported[1, 0] > 30


def test_many_classes_are_reported_by_chances():
    _, reported = played(asked_for("classes"), MeanOfLabels(), [[0, 0, 0]] * 3, [0, 1, 2])

    assert reported.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]


def test_labels_that_come_later_are_learned_by_their_own_rows():
    model = MeanOfLabels()
    rows = [[0.5, 2, row] for row in range(4)]
    _, reported = played(asked_for("regression"), model, rows, [4, 6, 1, 9], after=2)

    assert reported[:, 0].tolist() == [0, 0, 0, 4]
    assert [(row["x2"], label) for row, label in model.seen] == [(0, 4), (1, 6), (2, 1), (3, 9)]
