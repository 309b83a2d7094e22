"""The classes for people's own streams."""

import math

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor

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
