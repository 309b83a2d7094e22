"""Weights by hand, and the loop over a block."""

import math

import numpy as np
import pytest

from algorithms.chacha.safe.anchor import new_anchor
from algorithms.chacha.safe.guard import STARTING
from algorithms.chacha.safe.mixture import (
    ANCHOR_LOST,
    COUNT,
    GIVEN,
    LOST,
    MASS,
    N_TOTALS,
    SLACK,
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
    rho=0.01,
    experts=(0,),
    limits=(-np.inf, np.inf),
    before=1,
):
    n_slots, n = predictions.shape[1], len(labels)
    losses, totals, windows = np.zeros(n_slots), np.zeros(N_TOTALS), np.zeros((n_slots, 4))
    totals[COUNT] = before
    forecasts, scores = np.empty(n, dtype=np.float32), np.zeros(n_slots)
    labels = np.asarray(labels, dtype=np.float32)
    mix(
        np.asarray(predictions, dtype=np.float64),
        labels,
        np.clip(labels.astype(np.float64), *limits),
        np.tile(np.asarray(limits, dtype=np.float64), (n, 1)),
        np.arange(n_slots),
        np.array(experts),
        champion,
        gamma,
        rho,
        losses,
        totals,
        new_anchor(len(experts)),
        windows,
        scores,
        forecasts,
    )
    return forecasts, losses, totals, windows, scores


def test_weights_follow_the_losses():
    # Variance 2 / 4; the second model is worse by 1: odds 1 to exp(-1 / (2 * 0.5)).
    live, losses = np.arange(2), np.array([2.0, 3.0])
    eta = learning_rate(live, losses, 4.0)
    share = math.exp(-1) / (1 + math.exp(-1))

    assert posterior_mean(np.array([10.0, 20.0]), live, losses, eta) == pytest.approx(
        10 + 10 * share
    )


def test_models_that_are_not_live_count_for_nothing():
    losses = np.array([1.0, 0.0, 1.0])

    assert posterior_mean(np.array([1.0, 99.0, 3.0]), np.array([0, 2]), losses, 5.0) == 2.0


def test_a_model_without_loss_takes_all_weight_from_those_with_any():
    predictions, live = np.array([1.0, 9.0, 3.0]), np.arange(3)
    for least in (0.0, 5e-324, 1e-300):
        losses = np.array([least, 1e-9, least])
        eta = learning_rate(live, losses, 10.0)

        assert posterior_mean(predictions, live, losses, eta) == 2.0


def test_without_any_loss_all_models_count_the_same():
    losses = np.zeros(2)
    eta = learning_rate(np.arange(2), losses, 0.0)

    assert posterior_mean(np.array([1.0, 3.0]), np.arange(2), losses, eta) == 2.0


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


def test_the_first_forecast_is_the_base():
    forecasts, _, totals, *_ = run_mix(np.array([[1.0, 3.0]]), np.array([3.0]))

    assert forecasts.tolist() == [1.0]
    # What the base lost is given once, besides the share of it.
    assert totals[SLACK] == pytest.approx(4 + 0.01 * 4)
    assert totals[GIVEN] == totals[LOST] == 4


def test_the_anchor_is_the_experts_average():
    forecasts, *_ = run_mix(np.array([[1.0, 3.0, 8.0]]), np.array([3.0]), experts=(0, 2))

    assert forecasts.tolist() == [4.5]


def test_slack_is_given_for_the_first_examples_only():
    n = STARTING + 100
    _, _, totals, *_ = run_mix(np.full((n, 1), 1.0), np.zeros(n), before=0)

    # The first example, at which all forecast 0, is left out.
    assert totals[GIVEN] == STARTING - 1
    assert totals[SLACK] == pytest.approx(STARTING - 1 + 0.01 * n)


def test_a_label_beyond_the_range_weighs_as_the_range_does_and_gives_nothing():
    predictions = np.array([[1.0, 2.0]])
    _, losses, totals, windows, scores = run_mix(predictions, np.array([1e6]), limits=(0, 4))

    assert losses.tolist() == [9.0, 4.0]
    assert windows[1, 0] == 5.0
    assert totals[SLACK] == pytest.approx(0.01 * 9)
    assert totals[GIVEN] == 0
    assert scores.tolist() == [(1e6 - 1) ** 2, (1e6 - 2) ** 2]
    assert totals[LOST] == totals[ANCHOR_LOST] == (1e6 - 1) ** 2


def test_a_first_label_far_from_0_weighs_nothing():
    _, losses, totals, windows, scores = run_mix(
        np.zeros((1, 2)), np.array([1e6]), limits=(0, 0), before=0
    )

    assert losses.tolist() == [0.0, 0.0]
    assert totals[[SLACK, GIVEN]].tolist() == [0.0, 0.0]
    assert not windows.any()
    assert scores.tolist() == [1e12, 1e12]


def test_a_better_model_takes_over():
    rng = np.random.default_rng(0)
    labels = rng.normal(0, 1, 1000)
    predictions = np.stack([labels + 2, labels + 0.1 * rng.normal(0, 1, 1000)], axis=1)
    forecasts, *_ = run_mix(predictions, labels, gamma=0.999)

    assert np.abs(forecasts[500:] - labels[500:]).mean() < 0.1


def test_forecasts_rounded_to_float32_keep_the_guarantee():
    rng = np.random.default_rng(1)
    labels = (1e6 + rng.normal(0, 1, 500)).astype(np.float32)
    predictions = (labels[:, None] + rng.normal(0, [0.3, 3.0], (500, 2))).astype(np.float32)
    forecasts, _, totals, *_ = run_mix(predictions, labels, gamma=0.9)

    base = np.cumsum((predictions[:, 0].astype(float) - labels) ** 2)
    loss = np.cumsum((forecasts.astype(float) - labels) ** 2)
    assert (loss <= (1.01 * base + totals[GIVEN]) * (1 + 1e-9)).all()
    assert totals[LOST] == pytest.approx(loss[-1])
