"""Feature encodings and simple models by hand; no cliff where features are selected."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import (
    EMPTY,
    LAST,
    MEAN_SO_FAR,
    NARROW,
    RIDGE,
    RIDGE_ON_PAST,
    SEASON,
    FeatureExpansion,
    Row,
)
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
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


def fried(n, d, seed=0):
    """Return five useful features, and noise."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.random((n, 5)), rng.normal(size=(n, d - 5))]
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=n)
    return x.astype(np.float32), y.astype(np.float32)


def loss(x, y):
    model = OnlineAutoMLRegressor()
    found = float(((model.predict_then_learn_many(x, y) - y) ** 2).mean() / y.var())
    assert model._race.notes()["share_of_bound"] <= 1
    return found


def test_one_feature_more_than_all_are_seen_is_not_a_cliff():
    x, y = fried(1200, 65)

    assert loss(x, y) <= 1.05 * loss(x[:, :64], y)


def test_the_default_is_better_than_ridge_among_columns_of_noise():
    d = 221
    x, y = fried(2000, d)
    ridge = OnlineRidge().predictor(d, "regression").learn_many(x, y)

    assert loss(x, y) <= 0.9 * ((ridge - y) ** 2).mean() / y.var()


def test_twenty_of_two_thousand_columns_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2000)).astype(np.float32)
    weights = np.zeros(2000)
    weights[rng.choice(2000, 20, replace=False)] = rng.uniform(0.5, 1.5, 20)

    assert loss(x, (x @ weights + rng.normal(size=2000)).astype(np.float32)) < 0.22


D = 300


def learned(x, y, expansion=None):
    expansion = expansion or FeatureExpansion(x.shape[1])
    found = np.array([each.values for each in map(expansion.look, x.astype(np.float32), y)])
    return expansion, found[:, RIDGE_ON_PAST]


def held(expansion):
    return sorted(expansion.slots[expansion.slots != EMPTY].tolist())


NOISE = {
    "normal": lambda rng, n: rng.normal(size=(n, D)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, D)),
    "one-hot": lambda rng, n: np.eye(D)[rng.integers(0, D, n)],
    "sparse": lambda rng, n: rng.poisson(0.02, size=(n, D)),
    "walks": lambda rng, n: np.sign(rng.normal(size=(n, D))),
}


@pytest.mark.parametrize("labels", ["normal", "heavy tails"])
@pytest.mark.parametrize("kind", NOISE)
def test_of_noise_few_features_join(kind, labels):
    joined = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = NOISE[kind](rng, 1000)
        y = rng.normal(size=1000) if labels == "normal" else rng.standard_t(1.5, size=1000)
        joined += len(held(learned(x, y)[0]))

    assert joined <= 6  # of 900, at ten times
