"""Ridge on a stream equals ridge on all rows before, for any rows."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.reference.ridge import MOST_RIDGE, OnlineRidge
from leaseboard.algorithms.reference.ridge_steps import CLIP


def standardised(x):
    """Standardise each row by the mean and deviation of the rows before."""
    rows = np.zeros_like(x)
    for t in range(2, len(x)):
        mean, deviation = x[:t].mean(axis=0), x[:t].std(axis=0)
        varied = deviation > 0
        rows[t, varied] = (x[t, varied] - mean[varied]) / deviation[varied]
    return np.clip(rows, -CLIP, CLIP)


def sample(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    x[:, -1] = 0.1  # never varies
    y = (x @ rng.normal(size=d) + 5 + 0.3 * rng.normal(size=n)).astype(np.float32)
    return x, y


@pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
def test_each_prediction_is_that_of_the_ridge_regression_on_all_rows_before(l2):
    x, y = sample()
    z = np.column_stack([np.ones(len(x)), standardised(x.astype(float))])
    penalty = l2 * np.diag([0.0, *[1.0] * x.shape[1]])
    predictions = OnlineRidge(l2=l2).predictor(x.shape[1], "regression").learn_many(x, y)

    for t in range(1, len(y)):
        normal = z[:t].T @ z[:t] + penalty
        value = z[t] @ np.linalg.solve(normal, z[:t].T @ y[:t].astype(float))
        assert predictions[t] == pytest.approx(np.clip(value, y[:t].min(), y[:t].max()), rel=1e-4)
    assert predictions[0] == 0


def test_classes_are_predicted_by_margins_of_logistic_regression():
    """Near the regression that is refitted to all rows, with calibrated probabilities."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8000, 2)).astype(np.float32)
    y = np.where(rng.random(8000) < 1 / (1 + np.exp(-(2 * x[:, 0] - x[:, 1] + 0.5))), 1.0, -1.0)
    margins = OnlineRidge().predictor(2, "classification").learn_many(x, y.astype(np.float32))

    late = slice(4000, None)
    truth = 2 * x[late, 0] - x[late, 1] + 0.5
    assert np.abs(margins[late] - truth).mean() < 0.15
    probabilities = 1 / (1 + np.exp(-margins[late]))
    assert probabilities.mean() == pytest.approx((y[late] > 0).mean(), abs=0.02)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_beyond_the_limit_the_regression_is_on_selected_features(task):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_RIDGE + 1)).astype(np.float32)
    y = (2 * x[:, 3] - x[:, MOST_RIDGE] + 0.3 * rng.normal(size=600)).astype(np.float32)
    labels = np.sign(y) if task == "classification" else y
    exact = OnlineRidge().predictor(MOST_RIDGE, task)
    selected, halves = (OnlineRidge().predictor(MOST_RIDGE + 1, task) for _ in range(2))
    reported = selected.learn_many(x, labels)
    exact.learn_many(x[:2, 1:], labels[:2])
    in_two = [halves.learn_many(x[rows], labels[rows]) for rows in (slice(250), slice(250, 600))]

    assert np.concatenate(in_two).tolist() == reported.tolist()
    assert exact.notes() == {}
    assert 2 <= selected.notes()["selected_features"] < 10
    if task == "regression":
        assert ((reported - y)[300:] ** 2).mean() < 0.15 * y.var()
    else:
        assert (reported[300:] * labels[300:] > 0).mean() > 0.9
    with pytest.raises(UsageError, match=r"^l2 = 2 of 1025 features: .* leave l2 out$"):
        OnlineRidge(l2=2.0).predictor(MOST_RIDGE + 1, task)
