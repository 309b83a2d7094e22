"""Weights by hand, and the loop over a block."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import Block
from leaseboard.algorithms.online_automl.safe.mixture import (
    COUNT,
    LOST,
    MASS,
    SHARE_OF_BOUND,
    Mixture,
    learning_rate,
    posterior_mean,
)


def run_mix(
    outputs,
    labels,
    *,
    champion=0,
    gamma=0.5,
    baselines=(0,),
    limits=(-np.inf, np.inf),
    before=1,
    importances=None,
    untrained=(),
):
    n_slots, n = outputs.shape[1], len(labels)
    known = Mixture(n_slots, n_slots, np.array(baselines), gamma)
    known.untrained[[*untrained]], known.totals[COUNT], known.place[1] = True, before, 1.0
    labels = np.asarray(labels, dtype=np.float32)
    weights = np.ones(n, np.float32) if importances is None else np.float32(importances)
    block = Block(np.zeros((n, 1), np.float32), labels, weights, n_slots, n_simple=0)
    block.outputs[:] = outputs
    block.shown[:], block.limits[:] = np.clip(labels.astype(np.float64), *limits), limits
    block.live, block.champion = np.arange(n_slots), champion
    known.mix(block)
    return block.predictions, known.losses, known.totals, known.sums, known.scores


def test_a_model_without_loss_takes_all_weight_from_those_with_any():
    outputs, live = np.array([1.0, 9.0, 3.0]), np.arange(3)
    for least in (0.0, 5e-324, 1e-300):
        losses = np.array([least, 1e-9, least])
        eta = learning_rate(live, losses, 10.0)

        assert posterior_mean(outputs, live, losses, eta) == 2.0


def test_losses_are_forgotten_and_differences_are_not():
    _, losses, totals, windows, scores = run_mix(
        np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([0.0, 0.0]), champion=1
    )

    assert losses.tolist() == [0.5 * 1 + 4, 0.5 * 9 + 4]
    assert totals[MASS] == 0.5 * 1 + 1
    assert windows.tolist() == [[8.0, 64.0, 5.0, 17.0], [0.0, 0.0, 13.0, 97.0]]
    assert scores.tolist() == [5.0, 13.0]


def test_a_label_beyond_the_range_weighs_as_the_range_does():
    outputs = np.array([[1.0, 2.0]])
    _, losses, totals, windows, scores = run_mix(outputs, np.array([1e6]), limits=(0, 4))

    assert losses.tolist() == [9.0, 4.0]
    assert windows[1, 0] == 5.0
    assert scores.tolist() == [(1e6 - 1) ** 2, (1e6 - 2) ** 2]
    assert totals[LOST] == pytest.approx((1e6 - 1.49) ** 2)


def test_a_first_label_far_from_0_weighs_nothing():
    _, losses, totals, windows, scores = run_mix(
        np.zeros((1, 2)), np.array([1e6]), limits=(0, 0), before=0
    )

    assert losses.tolist() == [0.0, 0.0]
    assert totals[[LOST, SHARE_OF_BOUND]].tolist() == [0.0, 0.0]
    assert not windows.any()
    assert scores.tolist() == [1e12, 1e12]


def test_predictions_rounded_to_float32_keep_the_guarantee():
    rng = np.random.default_rng(1)
    labels = (1e6 + rng.normal(0, 1, 500)).astype(np.float32)
    outputs = (labels[:, None] + rng.normal(0, [0.3, 3.0], (500, 2))).astype(np.float32)
    limits = 1e6 - 20, 1e6 + 20
    predictions, _, totals, *_ = run_mix(outputs, labels, gamma=0.9, limits=limits)

    loss = np.sum((predictions.astype(float) - labels) ** 2)
    assert totals[LOST] == pytest.approx(loss)
    assert 0 < totals[SHARE_OF_BOUND] <= 1


def test_an_importance_weighs_every_loss_as_if_there_were_so_many():
    outputs, labels = np.array([[1.0, 3.0], [2.0, 2.5]]), np.array([0.0, 1.0])
    _, losses, totals, windows, scores = run_mix(outputs, labels, importances=[3, 0.5])

    assert losses.tolist() == [0.5 * 3 + 0.5 * 1, 0.5 * 27 + 0.5 * 2.25]
    assert totals[MASS] == 0.5 * 3 + 0.5
    assert scores.tolist() == [3 + 0.5, 27 + 0.5 * 2.25]
    assert windows[1, 0] == 3 * (1 - 9) + 0.5 * (1 - 2.25)


def test_an_untrained_model_has_no_weight_on_its_first_example():
    outputs, labels = np.array([[1.0, 9.0], [1.0, 9.0]]), [1.0, 1.0]
    trained, *_ = run_mix(outputs, labels)
    predictions, losses, *_ = run_mix(outputs, labels, untrained=(1,))

    assert trained[0] > 4.0
    assert predictions[0] == 1.0
    assert losses[1] == 0.5 * 64.0 + 64.0  # it takes its losses all the same
