"""Intervals from the regressor."""

import math

from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor


def test_none_are_made_up_before_there_is_evidence():
    model = OnlineAutoMLRegressor()

    assert model.predict_interval_one({"a": 1.0}, level=0.5) == (-math.inf, math.inf)
    for t in range(8):
        model.learn_one({"a": float(t)}, float(t * t))
    assert model.predict_interval_one({"a": 1.0}) == (-math.inf, math.inf)
