"""The predictor as a whole: what it says before is what it does, in every unit, in any blocks."""

import itertools

import numpy as np
import pytest

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.safe.ensemble import Ensemble
from leaseboard.algorithms.online_automl.safe.passes import OneExample
from leaseboard.algorithms.online_automl.safe.representations import represent

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
        for slot, configuration in enumerate(CONFIGURATIONS):
            self.models.start(slot, configuration)
        self.ensemble = Ensemble(self.models, D, B, gamma=0.999, classes=False)
        self.ensemble.live = np.arange(len(CONFIGURATIONS))
        self.at = 0

    def learn(self, x, y, most=64):
        """Return progressive predictions, learned in blocks of at most so many."""
        predictions = np.empty(len(y), np.float32)
        start = 0
        while start < len(y):
            n = self.ensemble.until(y[start : start + most], self.at)
            block = slice(start, start + n)
            ones = np.ones(n, np.float32)
            self.ensemble.learn(x[block], y[block], ones, predictions[block])
            start, self.at = start + n, self.at + n
            self.ensemble.move(self.at)
        return predictions

    def predict(self, example):
        return OneExample(self.ensemble, example).predict()


def sample(n, seed=0):
    """Draw whole numbers, so that many units keep them exactly."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (n, D)).astype(np.float32)
    y = 3 * x[:, 0] - 2 * x[:, 1] + x[:, 0] * x[:, 1] + rng.integers(-4, 5, n)
    return x, y.astype(np.float32)


def loss(predictions, labels):
    return float(((predictions.astype(np.float64) - labels) ** 2).sum())


@pytest.mark.parametrize("outliers", [(), (37, 150)])
def test_a_prediction_is_the_prediction_that_learning_gives(outliers):
    x, y = sample(400)
    y[list(outliers)] = 1e6
    y[:3] = 5
    run = Run()
    for t in range(len(y)):
        before = run.predict(x[t])
        assert run.predict(x[t]) == before
        assert run.learn(x[t : t + 1], y[t : t + 1]).tolist() == [before]


def test_standardising_again_leaves_the_prediction():
    x, y = sample(127)
    run = Run()
    run.learn(x, y)
    examples = sample(20, seed=1)[0]
    place, before = run.ensemble.known.place.copy(), [run.predict(row) for row in examples]
    run.ensemble.move(128)

    assert run.ensemble.known.place.tolist() != place.tolist()
    assert [run.predict(row) for row in examples] == pytest.approx(before, rel=1e-4, abs=1e-4)


def test_labels_are_standardised_again_at_powers_of_two():
    x, y = sample(300)
    run, places = Run(), []
    for t in range(300):
        run.learn(x[t : t + 1], y[t : t + 1])
        places.append(run.ensemble.known.place.tolist())
    changes = [t + 2 for t, (old, new) in enumerate(itertools.pairwise(places)) if old != new]

    assert changes == [4, 8, 16, 32, 64, 128, 256]


def test_equal_labels_are_predicted_exactly_until_they_differ():
    x, _ = sample(100)
    run = Run()
    predictions = run.learn(x, np.full(100, 7, np.float32))

    assert predictions[1:].tolist() == [7.0] * 99
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
    predictions = Run().learn(x, spoiled)

    after = slice(at + 1, at + 1001)
    assert loss(predictions[after], y[after]) <= 1.3 * loss(clean[after], y[after])
