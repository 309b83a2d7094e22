"""Feature encodings and simple models by hand, and against the scalar predictors."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import (
    LAST,
    MEAN_SO_FAR,
    NARROW,
    RIDGE,
    SEASON,
    FeatureExpansion,
    Row,
)
from leaseboard.algorithms.reference.naive import LastLabel, RunningMean, SeasonalLast
from leaseboard.algorithms.reference.ridge import MOST_RIDGE, OnlineRidge


def sample(n=200, d=3, seed=0):
    """Return labels that no range clips but the second: the first two are the extremes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 3, (n, d)).astype(np.float32)
    y = x @ np.arange(1, d + 1) + 5 * np.sin(np.arange(n) * 2 * np.pi / 7)
    y += rng.normal(size=n)
    y[:4] = -60, 60, -60, 60
    return x, y.astype(np.float32)


def many(n, d, seed=0, classes=False):
    """Return examples of many features, few of them useful, the last one by its square."""
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 3, (n, d)).astype(np.float32)
    z = (x - 2) / 3
    y = 2 * z[:, 1] - 2 * z[:, 7] + 1.5 * z[:, 30] + 1.5 * z[:, 58] ** 2 + rng.normal(size=n)
    y = np.where(y > 1, 1, -1) if classes else y
    return x, y.astype(np.float32)


def advanced(expansion, x, y):
    """Return what learning writes: wide rows, simple models, labels as shown, limits."""
    row, found = Row(np.zeros(x.shape[1], np.float32)), []
    row.learns, row.importance = True, 1.0
    for example, label in zip(x, y, strict=True):
        row.example, row.label = example, label
        expansion.expand(row)
        found.append((np.array(row.wide), np.array(row.values), row.shown, [row.low, row.high]))
    return [np.array(each) for each in zip(*found, strict=True)]


def test_later_labels_change_nothing_before():
    x, y = sample(100)
    other = y.copy()
    other[50:] = np.random.default_rng(1).normal(0, 1e5, 50)
    for one, two in zip(
        advanced(FeatureExpansion(3), x, y), advanced(FeatureExpansion(3), x, other), strict=True
    ):
        assert np.array_equal(one[:50], two[:50])
    at_50 = [written[50].tolist() for written in advanced(FeatureExpansion(3), x, other)]
    assert [written[50].tolist() for written in advanced(FeatureExpansion(3), x, y)][:2] == at_50[
        :2
    ]


def test_simple_models_are_the_reference_predictors():
    x, y = sample(600)
    _, simple, shown, _ = advanced(FeatureExpansion(3), x, y)
    assert shown.tolist() == y.tolist()
    references = {MEAN_SO_FAR: RunningMean(), LAST: LastLabel(), SEASON: SeasonalLast()}
    for simple_model, reference in references.items():
        expected = reference.predictor(3, "regression").learn_many(x, y)
        np.testing.assert_allclose(simple[1:, simple_model], expected[1:], rtol=1e-5, atol=1e-4)
        assert simple[0, simple_model] == expected[0] == 0


@pytest.mark.parametrize("d", [3, NARROW, NARROW + 1, 300, MOST_RIDGE, MOST_RIDGE + 1])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_ridge_is_that_of_the_leaderboard_at_every_width(d, task):
    classes = task == "classification"
    x, y = many(230, max(d, 59), classes=classes)
    x, y[:4] = x[:, -d:], (-1, 1, -1, 1) if classes else (-60, 60, -60, 60)
    _, simple, shown, _ = advanced(FeatureExpansion(d, classes), x, y)
    reported = OnlineRidge().predictor(d, task).learn_many(x, y)

    assert shown.tolist() == y.tolist()
    low, high = np.minimum.accumulate(y), np.maximum.accumulate(y)
    found, expected = simple[1:, RIDGE], np.tanh(reported[1:] / 2) if classes else reported[1:]
    if not classes:
        found, expected = (np.clip(one, low[:-1], high[:-1]) for one in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_columns_that_came_later_are_as_if_they_had_been_0_before():
    x, y = sample(150)
    padded = np.column_stack([x, np.zeros(150), np.zeros(150)]).astype(np.float32)
    padded[60:, 3:] = np.random.default_rng(1).normal(size=(90, 2))
    expansion, whole = FeatureExpansion(3), FeatureExpansion(5)
    advanced(expansion, x[:60], y[:60])
    expansion.grow(5)
    _, grown, *_ = advanced(expansion, padded[60:], y[60:])
    _, expected, *_ = advanced(whole, padded, y)

    np.testing.assert_allclose(grown, expected[60:], rtol=1e-6)
