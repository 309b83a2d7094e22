"""What an importance is: an example that counts so many times, and 0 that it does not."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)


def test_rare_and_important_is_as_likely_as_common():
    rng = np.random.default_rng(1)
    y = rng.uniform(size=4000) < 0.1
    x = rng.normal(size=(4000, 2)).astype(np.float32)
    w = np.where(y, 9.0, 1.0)
    regressor, classifier = OnlineAutoMLRegressor(b=5), OnlineAutoMLClassifier(b=5)
    regressor.learn_many(x, y.astype(float), w)
    classifier.learn_many(x, y, w)
    asked = [dict(enumerate(row)) for row in x[:50].tolist()]

    assert np.mean([regressor.predict_one(one) for one in asked]) == pytest.approx(0.5, abs=0.12)
    probabilities = [classifier.predict_proba_one(one)[True] for one in asked]
    assert np.mean(probabilities) == pytest.approx(0.5, abs=0.12)
