"""Intervals from the regressor: one, saved, and refused."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor


def noisy(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    return x, (x[:, 0] + rng.normal(size=n)).astype(np.float32)


@pytest.fixture(scope="module")
def model():
    found = OnlineAutoMLRegressor(b=4)
    found.learn_many(*noisy(3000))
    return found


def test_intervals_hold_as_many_labels_as_their_level_says(model):
    x, y = noisy(1000, seed=1)
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        rows = (dict(enumerate(row)) for row in x.tolist())
        low, high = np.array([model.predict_interval_one(row, level) for row in rows]).T

        assert np.mean((low <= y) & (y <= high)) == pytest.approx(level, abs=0.1)


def test_none_are_made_up_before_there_is_evidence():
    model = OnlineAutoMLRegressor()

    assert model.predict_interval_one({"a": 1.0}, level=0.5) == (-math.inf, math.inf)
    for t in range(8):
        model.learn_one({"a": float(t)}, float(t * t))
    assert model.predict_interval_one({"a": 1.0}) == (-math.inf, math.inf)
