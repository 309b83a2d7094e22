"""The online logistic regression: it stays sound, forgets, and is not thrown far."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.odds import VARIANCE, stack


def fresh(n):
    return np.zeros(n), VARIANCE * np.eye(n)


def step(x, second, weights, covariance):
    margin = float(np.clip(weights @ x, -30, 30))
    stack(x, 1 / (1 + math.exp(-margin)), bool(second), weights, covariance)


def assert_sound(weights, covariance):
    assert np.array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert covariance.diagonal().max() <= VARIANCE * (1 + 1e-12)
    assert np.abs(weights).max() < 10


def test_a_hundred_thousand_examples_leave_it_sound():
    rng = np.random.default_rng(0)
    weights, covariance = fresh(7)
    inputs = rng.normal(size=(100_000, 7))
    labels = inputs @ np.linspace(-1, 1, 7) + rng.logistic(size=100_000) > 0
    for x, second in zip(inputs, labels.tolist(), strict=True):
        step(x, second, weights, covariance)

    assert_sound(weights, covariance)
    assert np.abs(weights - np.linspace(-1, 1, 7)).max() < 0.5


@pytest.mark.parametrize("idle", ["none", "zero", "the same again"])
def test_what_was_true_is_forgotten_also_beside_an_input_that_says_nothing(idle):
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(4000, 3))
    inputs[:, 2] = {"none": inputs[:, 2], "zero": 0.0, "the same again": inputs[:, 1]}[idle]
    sign = np.where(np.arange(4000) < 3000, 1, -1)
    weights, covariance = fresh(3)
    for x, s in zip(inputs, sign.tolist(), strict=True):
        step(x, s * x[0] + rng.logistic() > 0, weights, covariance)

    assert weights[0] < -0.2
    assert_sound(weights, covariance)


def test_weights_that_were_sure_and_wrong_are_not_thrown_far():
    weights, covariance = np.array([0.0, 1.0]), VARIANCE * np.eye(2)
    inputs = np.array([1.0, math.log(99)])
    for _ in range(1000):
        step(inputs, weights @ inputs < 0, weights, covariance)
        assert np.abs(weights).max() < 5
