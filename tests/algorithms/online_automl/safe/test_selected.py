"""The default on streams of many features: no cliff where they begin to be selected."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import (
    EMPTY,
    RIDGE_ON_PAST,
    FeatureExpansion,
)
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.algorithms.reference.ridge import OnlineRidge


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
