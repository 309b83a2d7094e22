"""Parallel apple: the union of parents, the averages, and the same events wherever it runs."""

import copy

import numpy as np
import pytest

from leaseboard.algorithms.apple.learner import HashedLearner, PlanLearner
from leaseboard.algorithms.apple.parallel import STEPS, beyond, losses_beyond, united
from leaseboard.algorithms.apple.rows import Examples, column_scales
from leaseboard.algorithms.arrays import losses


def examples(x, y):
    return Examples(x, y[None])


KERNELS = {"plan": PlanLearner, "hashed": HashedLearner}


def loss(learner, rows, labels):
    return losses(learner.predict(rows), labels).sum()


@pytest.mark.parametrize("kernel", KERNELS)
def test_averages_by_hand(kernel):
    nodes = [KERNELS[kernel](np.ones(2), 0.5, 8) for _ in range(2)]
    for node, (w, g, n, low) in zip(nodes, [(2.0, 3.0, 1.0, -1.0), (5.0, 1.0, 4.0, -2.0)],
                                    strict=True):  # fmt: skip
        node.records[0] = w * n, g / n**2, 1 / n, 0
        node.totals[:] = [4, 2, low, 1, 10, 20]
    nodes[1].records[1] = 8.0, 1.0, 1.0, 0
    merged = united(nodes, KERNELS[kernel](np.ones(2), 0.5, 8))
    w, g, inverse, _ = merged.records[0]

    assert inverse == 0.25
    assert w * inverse == pytest.approx(11 / 4)
    assert g / inverse**2 == pytest.approx(10 / 4)
    assert merged.records["w"][1] == pytest.approx(8.0)
    assert merged.totals[2] == -2.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_beyond_an_average_predictions_go_on_as_they_went(kernel):
    x = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    *nodes, first, second = (KERNELS[kernel](column_scales(x), 0.5, 12) for _ in range(4))
    for node, parent, half in zip(nodes, [0, 1], [slice(30), slice(30, 60)], strict=True):
        node.expand([parent])
        node.learn(examples(x[half], y[half]))
    before = united(nodes, first)
    again = [copy.deepcopy(before) for _ in range(2)]
    for node, half in zip(again, [slice(20), slice(20, 60)], strict=True):
        node.learn(examples(x[half], y[half]))
    average = united(again, second)

    moved = [beyond(average, before, step) for step in STEPS]

    was, now, *gone = (m.predict(x, clamped=False) for m in (before, average, *moved))
    for step, margins in zip(STEPS, gone, strict=True):
        np.testing.assert_allclose(margins, now + step * (now - was), rtol=1e-3, atol=1e-4)
    losses = losses_beyond(average, now, was, y)
    np.testing.assert_allclose(losses, [loss(learner, x, y) for learner in moved], rtol=1e-3)
