"""Weights by hand, and the loop over a block."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.aggregate import new_aggregate
from leaseboard.algorithms.chacha.safe.front import new_block
from leaseboard.algorithms.chacha.safe.mixture import (
    COUNT,
    LOST,
    MASS,
    N_TOTALS,
    SHARE_OF_BOUND,
    Mixture,
    learning_rate,
    mix,
    posterior_mean,
)


def run_mix(
    predictions,
    labels,
    *,
    champion=0,
    gamma=0.5,
    baselines=(0,),
    limits=(-np.inf, np.inf),
    before=1,
    importances=None,
):
    n_slots, n = predictions.shape[1], len(labels)
    known = Mixture(
        *(np.zeros(n_slots), np.zeros(N_TOTALS), np.zeros(n_slots), np.zeros((n_slots, 4))),
        *(new_aggregate(1 + len(baselines)), np.array([0.0, 1.0])),
    )
    known.totals[COUNT] = before
    forecasts, labels = np.empty(n, dtype=np.float32), np.asarray(labels, dtype=np.float32)
    weights = np.ones(n, np.float32) if importances is None else np.float32(importances)
    block = new_block(np.zeros((n, 1), np.float32), labels, weights, n_slots)
    block.shown[:], block.limits[:] = np.clip(labels.astype(np.float64), *limits), limits
    mix(
        np.asarray(predictions, dtype=np.float32), block, np.arange(n_slots), np.array(baselines),
        champion, gamma, known, True, forecasts,
    )  # fmt: skip
    return forecasts, known.losses, known.totals, known.sums, known.scores


def test_models_that_are_not_live_count_for_nothing():
    losses = np.array([1.0, 0.0, 1.0])

    assert posterior_mean(np.array([1.0, 99.0, 3.0]), np.array([0, 2]), losses, 5.0) == 2.0


def test_a_model_without_loss_takes_all_weight_from_those_with_any():
    predictions, live = np.array([1.0, 9.0, 3.0]), np.arange(3)
    for least in (0.0, 5e-324, 1e-300):
        losses = np.array([least, 1e-9, least])
        eta = learning_rate(live, losses, 10.0)

        assert posterior_mean(predictions, live, losses, eta) == 2.0


def test_a_model_far_behind_does_not_overflow():
    losses = np.array([1e-300, 1e300])

    assert posterior_mean(np.array([1.0, 9.0]), np.arange(2), losses, 1e300) == 1.0


def test_losses_are_forgotten_and_differences_are_not():
    _, losses, totals, windows, scores = run_mix(
        np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([0.0, 0.0]), champion=1
    )

    assert losses.tolist() == [0.5 * 1 + 4, 0.5 * 9 + 4]
    assert totals[MASS] == 0.5 * 1 + 1
    assert windows.tolist() == [[8.0, 64.0, 5.0, 17.0], [0.0, 0.0, 13.0, 97.0]]
    assert scores.tolist() == [5.0, 13.0]


def test_the_first_forecast_is_mostly_the_posterior_mean():
    forecasts, _, totals, *_ = run_mix(np.array([[1.0, 3.0]]), np.array([3.0]))

    assert forecasts.tolist() == pytest.approx([0.98 * 2 + 0.02 * 1])
    assert totals[LOST] == pytest.approx((3 - 1.98) ** 2)


def test_a_label_beyond_the_range_weighs_as_the_range_does():
    predictions = np.array([[1.0, 2.0]])
    _, losses, totals, windows, scores = run_mix(predictions, np.array([1e6]), limits=(0, 4))

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


def test_forecasts_rounded_to_float32_keep_the_guarantee():
    rng = np.random.default_rng(1)
    labels = (1e6 + rng.normal(0, 1, 500)).astype(np.float32)
    predictions = (labels[:, None] + rng.normal(0, [0.3, 3.0], (500, 2))).astype(np.float32)
    limits = 1e6 - 20, 1e6 + 20
    forecasts, _, totals, *_ = run_mix(predictions, labels, gamma=0.9, limits=limits)

    loss = np.sum((forecasts.astype(float) - labels) ** 2)
    assert totals[LOST] == pytest.approx(loss)
    assert 0 < totals[SHARE_OF_BOUND] <= 1


def test_an_importance_weighs_every_loss_as_if_there_were_so_many():
    predictions, labels = np.array([[1.0, 3.0], [2.0, 2.5]]), np.array([0.0, 1.0])
    _, losses, totals, windows, scores = run_mix(predictions, labels, importances=[3, 0.5])

    assert losses.tolist() == [0.5 * 3 + 0.5 * 1, 0.5 * 27 + 0.5 * 2.25]
    assert totals[MASS] == 0.5 * 3 + 0.5
    assert scores.tolist() == [3 + 0.5, 27 + 0.5 * 2.25]
    assert windows[1, 0] == 3 * (1 - 9) + 0.5 * (1 - 2.25)


def test_an_example_of_importance_0_changes_nothing():
    _, losses, totals, windows, scores = run_mix(
        np.array([[1.0, 3.0]]), np.array([0.0]), importances=[0]
    )

    assert not any(array.any() for array in (losses, windows, scores))
    assert totals.tolist() == [0, 1, 0, 0, 0]  # COUNT is 1 before it
