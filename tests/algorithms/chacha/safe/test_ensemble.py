"""The forecaster as a whole: what it says before is what it does, in every unit, in any blocks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.chacha.safe.ensemble import Ensemble
from leaseboard.algorithms.chacha.safe.representations import represent
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.live import KernelModels
from leaseboard.algorithms.online.schema import Schema

D, B = 3, 4
SCHEMA = Schema(("a", "b", "c"), ((0,), (1,), (2,)), ("x", "y", "z"))
REPRESENTATIONS = represent(SCHEMA)
CONFIGURATIONS = (
    VWConfiguration(namespaces=REPRESENTATIONS.raw),
    VWConfiguration((("a:", "b:"),), namespaces=(*REPRESENTATIONS.standard, ":last")),
    VWConfiguration(learning_rate=4.0, namespaces=(*REPRESENTATIONS.raw, ":last", ":season")),
)


class Run:
    """An ensemble of three models, fed as a race feeds it but for its decisions."""

    def __init__(self):
        self.models = KernelModels(REPRESENTATIONS.schema, B)
        self.live = np.arange(len(CONFIGURATIONS))
        for slot, configuration in enumerate(CONFIGURATIONS):
            self.models.start(slot, configuration)
        self.ensemble = Ensemble(self.models, D, B, gamma=0.999, represents=True, classes=False)
        self.at = 0

    def learn(self, x, y, most=64):
        """Progressive forecasts, learned in blocks of at most so many."""
        forecasts = np.empty(len(y), np.float32)
        start = 0
        while start < len(y):
            n = self.ensemble.until(y[start : start + most], self.at)
            block = slice(start, start + n)
            ones = np.ones(n, np.float32)
            self.ensemble.learn(x[block], y[block], ones, self.live, 0, forecasts[block])
            start, self.at = start + n, self.at + n
            self.ensemble.move(self.at, self.live)
        return forecasts

    def predict(self, example):
        return self.ensemble.predict(example, self.live, 0)

    def state(self):
        arrays = [*self.ensemble.front.known]
        arrays += self.ensemble.known
        for slot in self.live.tolist():
            arrays += self.models.state(slot).values()
        return [np.array(array) for array in arrays]


def sample(n, seed=0):
    """Whole numbers, so that many units keep them exactly."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (n, D)).astype(np.float32)
    y = 3 * x[:, 0] - 2 * x[:, 1] + x[:, 0] * x[:, 1] + rng.integers(-4, 5, n)
    return x, y.astype(np.float32)


def assert_same_state(one, two):
    for have, other in zip(one.state(), two.state(), strict=True):
        assert np.array_equal(have, other)


def loss(forecasts, labels):
    return float(((forecasts.astype(np.float64) - labels) ** 2).sum())


@pytest.mark.parametrize("outliers", [(), (37, 150)])
def test_a_prediction_is_the_forecast_that_learning_gives(outliers):
    x, y = sample(400)
    y[list(outliers)] = 1e6
    y[:3] = 5
    run = Run()
    for t in range(len(y)):
        before = run.predict(x[t])
        assert run.predict(x[t]) == before
        assert run.learn(x[t : t + 1], y[t : t + 1]).tolist() == [before]


def test_a_prediction_learns_nothing():
    x, y = sample(100)
    run, other = Run(), Run()
    run.learn(x, y)
    other.learn(x, y)
    run.predict(x[0])

    assert_same_state(run, other)


@pytest.mark.parametrize("most", [1, 7, 64, 1000])
def test_blocks_of_any_size_give_the_same(most):
    x, y = sample(500)
    y[:4] = 2  # the models begin when labels differ
    whole, parts = Run(), Run()

    assert parts.learn(x, y, most).tolist() == whole.learn(x, y, 100_000).tolist()
    assert_same_state(parts, whole)


@settings(max_examples=15)
@given(st.integers(-12, 12), st.integers(-12, 12), st.booleans(), st.integers(0, 5))
def test_units_of_powers_of_two_change_not_one_bit(target, features, negative, seed):
    x, y = sample(200, seed)
    unit = -(2.0**target) if negative else 2.0**target
    forecasts = Run().learn(x, y)
    scaled = Run().learn(x * np.float32(2.0**features), y * np.float32(unit))

    assert scaled.tolist() == (np.float32(unit) * forecasts).tolist()


def test_standardising_anew_leaves_the_forecast():
    x, y = sample(127)
    run = Run()
    run.learn(x, y)
    examples = sample(20, seed=1)[0]
    place, before = run.ensemble.known.place.copy(), [run.predict(row) for row in examples]
    run.ensemble.move(128, run.live)

    assert run.ensemble.known.place.tolist() != place.tolist()
    assert [run.predict(row) for row in examples] == pytest.approx(before, rel=1e-4, abs=1e-4)


def test_labels_are_standardised_anew_at_powers_of_two():
    x, y = sample(300)
    run, places = Run(), []
    for t in range(300):
        run.learn(x[t : t + 1], y[t : t + 1])
        places.append(run.ensemble.known.place.tolist())
    changes = [t + 2 for t, (old, new) in enumerate(itertools.pairwise(places)) if old != new]

    assert changes == [4, 8, 16, 32, 64, 128, 256]


def test_equal_labels_are_forecast_exactly_until_they_differ():
    x, _ = sample(100)
    run = Run()
    forecasts = run.learn(x, np.full(100, 7, np.float32))

    assert forecasts[1:].tolist() == [7.0] * 99
    assert run.ensemble.known.place[1] == 0


@pytest.mark.parametrize("at", [200, 1000])
@pytest.mark.parametrize("outlier", [1e6, -1e6, 1e4])
def test_one_enormous_label_spoils_nothing_that_follows(at, outlier):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(at + 1001, D)).astype(np.float32)
    y = (x @ [0.6, -0.3, 0.1] + 0.7 * rng.normal(size=at + 1001)).astype(np.float32)
    clean = Run().learn(x, y)
    spoiled = y.copy()
    spoiled[at] = outlier
    forecasts = Run().learn(x, spoiled)

    after = slice(at + 1, at + 1001)
    assert loss(forecasts[after], y[after]) <= 1.3 * loss(clean[after], y[after])


def test_a_saved_ensemble_goes_on_to_the_bit():
    x, y = sample(500)
    run, other = Run(), Run()
    run.learn(x[:300], y[:300])
    for slot, configuration in enumerate(CONFIGURATIONS):
        other.models.restore(slot, configuration, run.models.state(slot))
    other.ensemble.fill(run.ensemble.state())
    other.at = run.at

    assert_same_state(run, other)
    assert run.learn(x[300:], y[300:]).tolist() == other.learn(x[300:], y[300:]).tolist()
    assert_same_state(run, other)


def test_the_forecasts_loss_is_what_it_says_and_within_its_promise():
    x, y = sample(600)
    run = Run()
    run.learn(x[:1], y[:1])  # all forecast 0: it is left out
    for block in np.array_split(np.arange(1, 600), 40):
        before = run.ensemble.lost
        forecasts = run.learn(x[block], y[block])
        assert run.ensemble.lost == pytest.approx(before + loss(forecasts, y[block]))
        assert run.ensemble.lost <= run.ensemble.promised()
