"""Ridge on a stream equals ridge on all rows before, for any rows in any units."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.reference.ridge import MOST_RIDGE, OnlineRidge
from leaseboard.algorithms.reference.steps import CLIP


def sample(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    x[:, -1] = 0.1  # never varies
    y = (x @ rng.normal(size=d) + 5 + 0.3 * rng.normal(size=n)).astype(np.float32)
    return x, y


@pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
def test_each_prediction_is_that_of_the_ridge_regression_on_all_rows_before(l2):
    """All rows are in the units of today; a penalty that has shrunk to half is restored."""
    x, y = sample()
    x[:9, 0] *= 0.01  # whose unit grows
    predictions = OnlineRidge(l2=l2).predictor(x.shape[1], "regression").learn_many(x, y)

    exact, penalties, before = x.astype(float), np.ones(x.shape[1]), np.zeros(x.shape[1])
    for t in range(1, len(y)):
        deviation = exact[:t].std(axis=0)
        unit = np.where(deviation > 1e-9, deviation, 1.0)
        penalties *= np.where(before > 1e-9, before / unit, 1.0) ** 2
        penalties[penalties < 0.5] = 1.0
        before = np.where(deviation > 1e-9, deviation, 0.0)
        z = np.where(deviation > 1e-9, (exact[: t + 1] - exact[:t].mean(axis=0)) / unit, 0.0)
        z = np.column_stack([np.ones(t + 1), z])
        normal = z[:t].T @ z[:t] + l2 * np.diag([0.0, *penalties])
        weights = np.linalg.solve(normal, z[:t].T @ y[:t].astype(float))
        value = np.clip(z[t], -CLIP, CLIP) @ weights
        assert predictions[t] == pytest.approx(np.clip(value, y[:t].min(), y[:t].max()), rel=1e-4)
    assert predictions[0] == 0


def test_a_line_is_found_from_any_first_rows():
    """Two first rows that are nearly equal count for no more than others."""
    x = np.float32([4.772, 4.905, 3.429, 5.8, 4.208, 4.487, 4.609])[:, None]
    predictions = OnlineRidge(l2=1e-6).predictor(1, "regression").learn_many(x, 5 - 2 * x[:, 0])

    assert predictions[4:] == pytest.approx(5 - 2 * x[4:, 0], abs=0.01)


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
    assert halves.predict_waiting(x[:2], 0)[0] == selected.predict_waiting(x, 0)[0]
    assert exact.notes() == {}
    assert 2 <= selected.notes()["selected_features"] < 10
    if task == "regression":
        assert ((reported - y)[300:] ** 2).mean() < 0.15 * y.var()
    else:
        assert (reported[300:] * labels[300:] > 0).mean() > 0.9
    with pytest.raises(UsageError, match=r"^l2 = 2 of 1025 features: .* leave l2 out$"):
        OnlineRidge(l2=2.0).predictor(MOST_RIDGE + 1, task)
