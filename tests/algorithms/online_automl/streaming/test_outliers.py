"""Few labels that are wrong do not spoil what was learned of an autoregressive stream."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor

N, AT = 1400, 900


def errors(X, y):
    return (OnlineAutoMLRegressor().predict_then_learn_many(X, y).astype(float) - y) ** 2


def autoregressive(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 3)).astype(np.float32), np.zeros(N)
    for t in range(1, N):
        y[t] = 0.999 * y[t - 1] + rng.normal() + X[t, 0]
    return X, y


def drifting(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 3)).astype(np.float32), np.cumsum(rng.normal(0.1, 1, N))


@pytest.mark.parametrize("made", [autoregressive, drifting])
def test_a_hundred_rows_later_errors_are_as_without_them(made):
    X, y = made(0)
    clean = errors(X, y)
    for at, wrong in ((AT, [1e6]), (AT, [-1e6] * 3), (AT, [1e12]), (AT, [1e3]), (50, [1e6])):
        spoilt = y.copy()
        spoilt[at : at + len(wrong)] = wrong
        after = slice(at + len(wrong) + 100, at + len(wrong) + 400)
        assert errors(X, spoilt)[after].mean() < 1.2 * clean[after].mean()


def test_a_level_that_stays_is_followed_within_ten_rows():
    X, y = drifting(0)
    clean, shifted = errors(X, y), y.copy()
    shifted[AT:] += 1e4
    followed = errors(X, shifted)
    assert (followed[AT : AT + 3] > 5e3**2).all()  # no label has shown yet that the level stays
    assert (followed[AT + 10 : AT + 100] < 1e2**2).all()
    assert followed[AT + 200 :].mean() < 2 * clean[AT + 200 :].mean()


@pytest.mark.parametrize(("size", "importance"), [(3e38, 1.0), (1e30, 1e9)])
def test_labels_near_the_largest_number_are_learned(size, importance):
    """Predictions stay finite; and what has a pattern is found, as of small labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, size, -size)
    model, found = OnlineAutoMLRegressor(b=5), []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        row = dict(enumerate(x))
        found.append(model.predict_one(row))
        model.learn_one(row, label, importance)

    assert np.isfinite(found).all()
    assert ((np.array(found[300:]) / size - y[300:] / size) ** 2).mean() < 0.3
