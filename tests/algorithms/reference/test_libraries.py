"""A tree that is fitted again: by the labels that are known, when they are known."""

import lightgbm
import numpy as np
import pytest

from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.reference.libraries import FIRST, SETTINGS, Refitted, RefittedLightGBM


def waves(n):
    rows = np.random.default_rng(0).uniform(-1, 1, size=(n, 3)).astype(np.float32)
    return rows, (np.sin(3 * rows[:, 0]) * (rows[:, 1] > 0)).astype(np.float32)


def trees(rows, labels, **settings):
    return lightgbm.train({**SETTINGS, **settings}, lightgbm.Dataset(rows, labels))


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_it_is_fitted_when_the_number_of_labels_has_doubled(block):
    rows, labels = waves(900)
    model = Refitted("regression")
    found = np.concatenate([
        model.learn_many(rows[at : at + block], labels[at : at + block])
        for at in range(0, len(rows), block)
    ])  # fmt: skip

    means = np.cumsum(labels.astype(float))[: FIRST - 1] / np.arange(1, FIRST)
    assert found[0] == 0
    assert found[1:FIRST] == pytest.approx(means, abs=1e-5)
    for n in (200, 400, 800):
        known = trees(rows[:n], labels[:n], objective="regression")
        part = slice(n, min(2 * n, 900))
        assert found[part] == pytest.approx(known.predict(rows[part]), rel=1e-5, abs=1e-6)


def test_labels_that_come_later_fit_it_later():
    rows, labels = waves(700)
    stream = Stream(rows, labels, schema_of("a", "b", "c"))
    env = StreamEnvironment(stream, arrival=Arrival(after=100))
    list(RefittedLightGBM().run(env, 0))

    known = trees(rows[:400], labels[:400], objective="regression")
    assert env.predictions[501:] == pytest.approx(known.predict(rows[501:]), rel=1e-5, abs=1e-6)
    assert (env.predictions[:101] == 0).all()


def test_classes_are_odds_of_two_and_probabilities_of_more():
    rows, labels = waves(500)
    two = np.where(labels > 0, 1, -1).astype(np.float32)
    odds = Refitted("classification").learn_many(rows, two)
    assert np.mean((odds[FIRST:] > 0) == (two[FIRST:] > 0)) > 0.9
    three = np.digitize(labels, [-0.1, 0.1]).astype(np.float32)
    shares = Refitted("classification", 3).learn_many(rows, three)
    assert shares.shape == (500, 3)
    assert shares[1:].sum(axis=1) == pytest.approx(1.0)
    assert np.mean(shares[FIRST:].argmax(axis=1) == three[FIRST:]) > 0.85
