"""Chances of classes from forecasters that a person tries first."""

import numpy as np
import pytest

from leaseboard.algorithms.benches.stream import Namespace, Stream, StreamBench
from leaseboard.algorithms.reference.naive import (
    NAIVE_BASELINES,
    LastLabel,
    RunningMean,
    SeasonalLast,
    best_baseline,
)
from leaseboard.algorithms.reference.ridge import OnlineRidge

NOTHING = np.zeros((9, 1), np.float32)


def chances(algorithm, labels, examples=NOTHING):
    labels = np.asarray(labels, np.float32)
    return algorithm.forecaster(examples.shape[1], "classification", 3).learn_many(
        examples[: len(labels)], labels
    )


def sample(n=400, k=4):
    """Classes by the largest of linear scores, the last not in the first half."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    found = (x @ rng.normal(size=(3, k)) + 0.3 * rng.gumbel(size=(n, k))).argmax(axis=1)
    found[: n // 2][found[: n // 2] == k - 1] = 0
    places = {}
    return x, np.float32([places.setdefault(one, len(places)) for one in found.tolist()])


def test_shares_are_those_of_the_labels_before():
    assert chances(RunningMean(), [0, 1, 1, 2]).tolist() == [
        [0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [1 / 3, 2 / 3, 0]
    ]  # fmt: skip


def test_the_last_label_is_certain():
    found = chances(LastLabel(), [0, 2, 1])

    assert found.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_a_season_of_classes_is_found_whatever_their_numbers():
    """By squared differences period 2 would be nearer: it is right less often."""
    labels = np.tile([0, 9, 0, 8, 0, 9, 1, 8], 60)
    found = chances(SeasonalLast(), labels, np.zeros((480, 1), np.float32))

    assert (found.argmax(axis=1)[100:] == labels[100:]).all()


@pytest.mark.parametrize("name", NAIVE_BASELINES)
def test_blocks_of_any_size_give_the_same(name):
    x, labels = sample()
    whole, parts = (NAIVE_BASELINES[name]().forecaster(3, "classification", 3) for _ in range(2))
    expected = whole.learn_many(x, labels)
    for rows in np.array_split(np.arange(400), 13):
        found = parts.learn_many(x[rows], labels[rows])
        n_classes = found.shape[1]
        assert np.array_equal(found, expected[rows, :n_classes])
        assert not expected[rows, n_classes:].any()


def test_a_class_that_comes_late_is_learned_as_if_it_had_been_the_rest():
    x, labels = sample()
    new = int(np.argmax(labels == 3))
    found = chances(OnlineRidge(), labels, x)
    alone = OnlineRidge().forecaster(3, "classification")
    margins = alone.learn_many(x, np.where(labels == 3, 1, -1).astype(np.float32))
    others = chances(OnlineRidge(), np.where(labels == 3, 0, labels), x)

    assert new >= 200
    assert not found[: new + 1, 3].any()
    assert np.array_equal(found[:new], np.pad(others[:new], ((0, 0), (0, 1))))
    late = found[new + 1 :]
    odds = late[:, 3] / (1 / (1 + np.exp(-margins[new + 1 :].astype(float))))
    assert (odds > 0.5).all()  # scaled to 1 with the chances of the others
    assert late.sum(axis=1) == pytest.approx(1)
    assert late[-50:, 3].max() > 0.5


def test_the_best_is_found_among_them():
    x, labels = sample()
    stream = Stream(x, labels, (Namespace("a", 0, 3),), ("x", "y", "z"), "classification",
                    classes=("p", "q", "r", "s"))  # fmt: skip
    name, loss = best_baseline(StreamBench(stream))

    assert name == "online-ridge"
    assert 0.1 < loss < 0.4
