import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment


def stream(labels, task="regression", classes=()):
    labels = np.asarray(labels, dtype=np.float32)
    features = np.zeros((len(labels), 1), dtype=np.float32)
    return Stream(features, labels, schema_of("x"), task, classes=classes)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_the_score_does_not_depend_on_the_blocks(sizes):
    n = sum(sizes)
    labels = np.sin(np.arange(n)).astype(np.float32)
    predictions = np.cos(np.arange(n)).astype(np.float32)
    whole, blocks = StreamEnvironment(stream(labels)), StreamEnvironment(stream(labels))
    points = list(whole.record(predictions))
    pieces = []
    for block in np.split(predictions, np.cumsum(sizes)[:-1]):
        pieces += blocks.record(block)

    assert [point.at for point in pieces] == [point.at for point in points]
    assert blocks.score().value == pytest.approx(whole.score().value, rel=1e-12)
    expected = np.mean((predictions.astype(float) - labels) ** 2)
    assert whole.score().value == pytest.approx(expected, rel=1e-12)


def classes(labels, budget=None):
    return StreamEnvironment(stream(labels, "classification", tuple("uvw")), budget=budget)


def test_many_classes_are_scored_by_the_likeliest_and_by_the_chance_of_what_came():
    env = classes([0, 1, 0, 1, 2, 0])
    list(env.record(np.zeros((1, 0))))
    list(env.record([[1], [1]]))
    list(env.record(np.float32([[0.75, 0.25], [0.5, 0.5], [0.125, 0.5]])))
    score = env.score()

    assert env.predictions.tolist() == [-1, 0, 0, 0, 0, 1]  # what was said, though new ones came
    assert (score.metric, score.value) == ("progressive_error", 5 / 6)
    assert score.metrics["error"] == 5 / 6
    expected = -np.log([1, 0.25, 0.125]).mean()  # but for the three that are new
    assert score.metrics["log_loss"] == pytest.approx(expected)


def test_a_class_that_comes_for_the_first_time_is_always_an_error():
    env = classes([0, 1, 2, 2])
    list(env.record(np.eye(3)[[0, 1, 2, 2]]))

    assert env.predictions.tolist() == [-1, -1, -1, 2]
    assert env.score().value == 0.75
    assert env.score().metrics["log_loss"] == 0


@pytest.mark.parametrize(
    "given",
    [
        [0, 1],
        np.zeros((2, 4)),
        [["a"], ["b"]],
        [[0.5, 0.5], [0.9, 0.2]],
        [[-0.5, 0.5]],
        np.zeros((3, 3)),  # more than the budget
    ],
)
def test_predictions_that_are_not_probabilities_are_refused(given):
    with pytest.raises(ValueError, match=r"probabilit|numbers|budget of 2"):
        list(classes([0, 1, 2], budget=2).record(given))
