"""Features and namespaces that come late are seen by the models and their simple models."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import NARROW
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.algorithms.reference.ridge import MOST_RIDGE


def stream(n, d, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    return x, (5 + x[:, 0] + 3 * x[:, -1]).astype(np.float32)


def as_dicts(x):
    return [{f"x{i}": v for i, v in enumerate(row)} for row in x.tolist()]


@pytest.mark.parametrize("start", [3, NARROW - 2, NARROW, NARROW + 1, MOST_RIDGE])
def test_features_join_also_where_the_ridge_regressions_stop(start, tmp_path):
    x, y = stream(300, start)
    more, labels = stream(300, start + 3, seed=1)
    model = OnlineAutoMLRegressor(b=6)
    for example, label in zip(as_dicts(x), y.tolist(), strict=True):
        model.learn_one(example, label)
    model.save(tmp_path / "model")
    double = OnlineAutoMLRegressor.load(tmp_path / "model")
    predictions = []
    for one in (model, double):
        reported = []
        for example, label in zip(as_dicts(more), labels.tolist(), strict=True):
            reported.append(one.predict_one(example))
            one.learn_one(example, label)
        predictions.append(reported)
    late = np.mean((np.array(predictions[0][150:]) - labels[150:]) ** 2)

    assert predictions[0] == predictions[1]
    assert np.isfinite(predictions[0]).all()
    assert repr(model.live) == repr(double.live)
    assert late < np.var(labels)


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha", "chacha-literal"])
@pytest.mark.parametrize("empty", [{}, {"x": None}])
def test_a_first_example_may_be_empty(algorithm, empty):
    model = OnlineAutoMLRegressor(algorithm=algorithm)
    model.learn_one(empty, 1.0)
    model.learn_one({"x": 1.0}, 1.0)

    assert model.examples == 2
