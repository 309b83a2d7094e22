"""Weights by hand, and the loop over a block."""

import math

import numpy as np
import pytest

from algorithms.chacha.safe.mixture import MASS, SLACK, learning_rate, mix, posterior_mean


def run_mix(predictions, labels, *, champion=0, gamma=0.5, rho=0.01, classes=False):
    n_slots = predictions.shape[1]
    losses, totals, windows = np.zeros(n_slots), np.zeros(2), np.zeros((n_slots, 4))
    forecasts, scores = np.empty(len(labels), dtype=np.float32), np.zeros(n_slots)
    mix(
        np.asarray(predictions, dtype=np.float32),
        np.asarray(labels, dtype=np.float32),
        np.arange(n_slots),
        0,
        champion,
        gamma,
        rho,
        classes,
        losses,
        totals,
        windows,
        scores,
        forecasts,
    )
    return forecasts, losses, totals, windows, scores


def test_weights_follow_the_losses():
    # Variance 2 / 4; the second model is worse by 1: odds 1 to exp(-1 / (2 * 0.5)).
    live, losses = np.arange(2), np.array([2.0, 3.0])
    eta = learning_rate(live, losses, 4.0, False)
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
        eta = learning_rate(live, losses, 10.0, False)

        assert posterior_mean(predictions, live, losses, eta) == 2.0


def test_without_any_loss_all_models_count_the_same():
    losses = np.zeros(2)
    eta = learning_rate(np.arange(2), losses, 0.0, False)

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
    assert totals[SLACK] == pytest.approx(0.01 * 4)


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
    forecasts, *_ = run_mix(predictions, labels, gamma=0.9)

    base = np.cumsum((predictions[:, 0].astype(float) - labels) ** 2)
    loss = np.cumsum((forecasts.astype(float) - labels) ** 2)
    assert (loss <= 1.01 * base * (1 + 1e-9)).all()


def test_classes_are_weighed_by_logistic_loss():
    _, losses, _, windows, scores = run_mix(
        np.array([[1.0, -2.0]]), np.array([1.0]), champion=0, classes=True
    )

    assert losses == pytest.approx([math.log1p(math.exp(-1)), math.log1p(math.exp(2))])
    assert windows[1, 0] == pytest.approx(losses[0] - losses[1])
    assert scores.tolist() == [0.0, 1.0]
