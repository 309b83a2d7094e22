"""What an importance is: an example that counts so many times, and 0 that it does not."""

import numpy as np
import pytest

from algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor


def two_truths(n=3000):
    """Every fourth example says y = 2 x, the others y = -5 x."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    trusted = np.arange(n) % 4 == 0
    return x, np.where(trusted, 2 * x[:, 0], -5 * x[:, 0]), trusted


@pytest.mark.parametrize("light", [0.0, 1e-6, 1e-3])
def test_the_forecast_is_that_of_the_examples_with_weight(light):
    x, y, trusted = two_truths()
    model = ChaChaRegressor(b=10)
    model.learn_many(x, y, np.where(trusted, 1.0, light))

    assert model.predict_one({0: 1.0, 1: 0.0}) == pytest.approx(2, abs=0.15)


def test_of_importance_0_nothing_is_learned():
    x, y, trusted = two_truths(800)
    some, all_of_them, single = (ChaChaRegressor(b=5) for _ in range(3))
    expected = some.learn_many(x[trusted], y[trusted])
    found = all_of_them.learn_many(x, y, trusted.astype(float))
    for row, label, one in zip(x.tolist(), y.tolist(), trusted.tolist(), strict=True):
        single.learn_one(dict(enumerate(row)), label, float(one))

    assert found[trusted].tolist() == expected.tolist()
    for model in (all_of_them, single):
        assert model.examples == some.examples
        assert repr(model.history) == repr(some.history)
        assert model.predict_one({0: 1.0}) == some.predict_one({0: 1.0})


def test_rare_and_important_is_as_likely_as_common():
    rng = np.random.default_rng(1)
    y = rng.uniform(size=4000) < 0.1
    x = rng.normal(size=(4000, 2)).astype(np.float32)
    w = np.where(y, 9.0, 1.0)
    regressor, classifier = ChaChaRegressor(b=5), ChaChaClassifier(b=5)
    regressor.learn_many(x, y.astype(float), w)
    classifier.learn_many(x, y, w)
    asked = [dict(enumerate(row)) for row in x[:50].tolist()]

    assert np.mean([regressor.predict_one(one) for one in asked]) == pytest.approx(0.5, abs=0.12)
    chances = [classifier.predict_proba_one(one)[True] for one in asked]
    assert np.mean(chances) == pytest.approx(0.5, abs=0.12)
