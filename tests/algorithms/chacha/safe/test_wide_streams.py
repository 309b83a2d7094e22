"""The default on streams of many features: no cliff where they begin to be selected."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor
from leaseboard.algorithms.reference.ridge import OnlineRidge


def fried(n, d, seed=0):
    """Five useful features, and noise."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.random((n, 5)), rng.normal(size=(n, d - 5))]
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=n)
    return x.astype(np.float32), y.astype(np.float32)


def loss(x, y):
    model = ChaChaRegressor()
    found = float(((model.learn_many(x, y) - y) ** 2).mean() / y.var())
    assert model._race.notes()["share_of_bound"] <= 1
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_one_feature_more_than_all_are_seen_is_no_cliff(seed):
    x, y = fried(3000, 65, seed)

    assert loss(x, y) <= 1.05 * loss(x[:, :64], y)


@pytest.mark.parametrize("d", [65, 221, 521])
def test_the_default_is_better_than_ridge_among_columns_of_noise(d):
    x, y = fried(3000, d)
    ridge = OnlineRidge().forecaster(d, "regression").learn_many(x, y)

    assert loss(x, y) <= 0.9 * ((ridge - y) ** 2).mean() / y.var()


def test_twenty_of_two_thousand_columns_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2000)).astype(np.float32)
    weights = np.zeros(2000)
    weights[rng.choice(2000, 20, replace=False)] = rng.uniform(0.5, 1.5, 20)

    assert loss(x, (x @ weights + rng.normal(size=2000)).astype(np.float32)) < 0.22


def test_what_is_linear_in_all_of_many_columns_is_as_good_as_ridge():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 150)).astype(np.float32)
    y = (x @ rng.normal(size=150) + rng.normal(size=2000)).astype(np.float32)
    ridge = OnlineRidge().forecaster(150, "regression").learn_many(x, y)

    assert loss(x, y) <= 1.1 * ((ridge - y) ** 2).mean() / y.var()


def test_classes_among_columns_of_noise_are_no_cliff_either():
    x, y = fried(2000, 65)
    losses = []
    for d in (64, 65):
        model, wrong = ChaChaClassifier(), 0
        for t, row in enumerate(x[:, :d]):
            wrong += t >= 500 and model.predict_one(dict(enumerate(row.tolist()))) != (y[t] > 14)
            model.learn_one(dict(enumerate(row.tolist())), bool(y[t] > 14))
        losses.append(wrong)

    assert losses[1] <= 1.05 * losses[0]


@pytest.mark.parametrize("d", [100, 1100])
def test_one_by_one_a_block_and_a_model_that_was_saved_are_the_same(d, tmp_path):
    x, y = fried(330, d)
    whole, one = ChaChaRegressor(), ChaChaRegressor()
    told = whole.learn_many(x, y).tolist()
    singly = [one.learn_many(x[t : t + 1], y[t : t + 1])[0] for t in range(210)]
    one.save(tmp_path / "model")
    again = ChaChaRegressor.load(tmp_path / "model")

    assert (again._race.ensemble.front.known.slots >= 0).any()
    assert [*singly, *again.learn_many(x[210:], y[210:])] == told
    assert again.live == whole.live
