"""The classes for people's own streams, and features that come late."""

import math

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.safe.expansion import NARROW
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.algorithms.reference.ridge import MOST_RIDGE

EVAL = {"algorithm": "chacha", "b": 3}


def test_a_missing_column_of_a_frame_counts_zero_and_an_array_has_all():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 1.5], "c": [1.0, 0.0]}, index=[7, 3])
    model = OnlineAutoMLRegressor(**EVAL)
    model.learn_many(frame, np.ones(2))

    found = model.predict_many(frame[["c"]])
    assert found.index.tolist() == [7, 3]
    assert found.tolist() == pytest.approx([model.predict_one({"c": c}) for c in (1.0, 0.0)])
    with pytest.raises(UsageError, match="columns 'a', 'b', 'c' were learned and are not in the"):
        model.predict_many(frame[["a"]].to_numpy())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"b": 0}, "online-automl: setting b=0 must be greater"),
        ({"algorithm": "chacha-flml"}, "unknown algorithm 'chacha-flml': did you mean 'chacha-f"),
        ({"algorithm": "apple"}, "algorithm 'apple' is not a race .*chacha-literal"),
        ({"algorithm": "mine.py:Mine"}, "algorithm 'mine.py:Mine' is not a race of models"),
        ({"max_pending": 1.5}, "max_pending=1.5 must be a whole number"),
        ({"bb": 1}, "unknown setting of online-automl 'bb': did you mean 'b'"),
    ],
)
def test_a_bad_setting_is_reported_in_one_line(settings, words):
    with pytest.raises(UsageError, match=f"^{words}") as caught:
        OnlineAutoMLRegressor(**settings)

    assert "\n" not in str(caught.value)


def beyond(seed, noise):
    """Return how far predictions at 6.5 and 9 are from the line learned between 1 and 5."""
    rng, model = np.random.default_rng(seed), OnlineAutoMLRegressor()
    for price in rng.uniform(1, 5, 300):
        model.learn_one({"price": price}, 200 - 20 * price + noise * rng.normal())
    return max(abs(model.predict_one({"price": p}) - 200 + 20 * p) for p in (6.5, 9.0))


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_a_line_goes_on_as_a_line_where_no_row_has_been(noise):
    """Of models that explain the past equally well the simplest has most weight, as a rule."""
    errors = sorted(beyond(seed, noise) for seed in range(8))

    assert errors[5] < 5


def test_two_groups_go_on_as_lines_where_no_row_has_been():
    model = OnlineAutoMLRegressor()
    for day in range(100):
        x = {"price": 3.0 + day % 5, "weekend": day % 7 > 4}
        model.learn_one(x, 200 - 20 * x["price"] + 50 * x["weekend"])

    found = [model.predict_one({"price": 9.0, "weekend": weekend}) for weekend in (False, True)]
    assert found == pytest.approx([20, 70], abs=2)


def test_no_intervals_are_made_up_before_there_is_evidence():
    model = OnlineAutoMLRegressor(b=3)

    assert model.predict_interval_one({"a": 1.0}, level=0.5) == (-math.inf, math.inf)
    for t in range(8):
        model.learn_one({"a": float(t)}, float(t * t))
    assert model.predict_interval_one({"a": 1.0}) == (-math.inf, math.inf)


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
