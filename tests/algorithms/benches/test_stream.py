import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.benches.stream import Namespace, Stream, StreamBench, next_log_point


def stream(labels, task="regression"):
    labels = np.asarray(labels, dtype=np.float32)
    features = np.zeros((len(labels), 1), dtype=np.float32)
    return Stream(features, labels, (Namespace("a", 0, 1),), ("x",), task)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_the_score_does_not_depend_on_the_blocks(sizes):
    n = sum(sizes)
    labels = np.sin(np.arange(n)).astype(np.float32)
    predictions = np.cos(np.arange(n)).astype(np.float32)
    whole, blocks = StreamBench(stream(labels)), StreamBench(stream(labels))
    points = list(whole.record(predictions))
    pieces = []
    for block in np.split(predictions, np.cumsum(sizes)[:-1]):
        pieces += blocks.record(block)

    assert [point.at for point in pieces] == [point.at for point in points]
    assert blocks.score().value == pytest.approx(whole.score().value, rel=1e-12)
    expected = np.mean((predictions.astype(float) - labels) ** 2)
    assert whole.score().value == pytest.approx(expected, rel=1e-12)


def test_points_are_log_spaced_and_end_at_the_end():
    bench = StreamBench(stream(np.zeros(30)))

    assert [p.at for p in bench.record(np.zeros(30, np.float32))] == [1, 2, 5, 10, 20, 30]


def test_classification_counts_errors_by_sign():
    bench = StreamBench(stream([1, 1, -1, -1], "classification"))
    list(bench.record(np.array([0.2, -0.1, -3, 1], dtype=np.float32)))

    assert bench.score().value == 0.5
    assert bench.score().metric == "progressive_error"


def test_more_predictions_than_examples_are_refused():
    bench = StreamBench(stream(np.zeros(3)), budget=2)

    with pytest.raises(ValueError, match="budget of 2 examples"):
        list(bench.record(np.zeros(3, np.float32)))


def test_cost_in_models_times_examples():
    bench = StreamBench(stream(np.zeros(4)))
    list(bench.record(np.zeros(2, np.float32), live=1))
    list(bench.record(np.zeros(2, np.float32), live=5))

    assert bench.score().metrics["models_per_example"] == 3.0


def test_log_points_have_no_gap():
    points = [1]
    while points[-1] < 10**6:
        points.append(next_log_point(points[-1]))

    assert points[:7] == [1, 2, 5, 10, 20, 50, 100]
    assert points[-1] == 10**6
