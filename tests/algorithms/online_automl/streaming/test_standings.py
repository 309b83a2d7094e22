"""What live models and the champion see is reported in words."""

import pickle

import numpy as np

from leaseboard.algorithms.events import ColumnsGrouped, ConfigurationAdmitted, of
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLRegressor,
)


def test_interactions_are_reported_by_the_names_of_features():
    """Dates, texts and gaps among them, in namespaces of one's own and in groups."""
    rng = np.random.default_rng(0)
    model = OnlineAutoMLRegressor({"weather": ["wind", "rain"]}, b=40)
    start = np.datetime64("2024-01-01T00")
    for t in range(300):
        example = {
            "wind": rng.normal(),
            "rain": rng.normal(),
            "a × b": rng.normal(),
            "colour": "red",
            "when": start + np.timedelta64(t // 30 * 30, "D"),
            "gap": None if t % 50 == 9 else rng.normal(),
            "shop 1": {"price": rng.normal()},
        }
        model.learn_one(example, example["wind"] * example["a × b"])
    reported = {one for event in of(model.history, ConfigurationAdmitted)
            for one in event.parameters["interactions"]}  # fmt: skip

    assert {*model.champion["interactions"]} <= reported
    assert {"weather × shop 1", "'a × b' × colour=red", "when: days × when: weekday"} <= reported
    assert model.groups["weather"] == ["rain", "wind"]
    assert {one.column for one in model._race.schema.origins if one.part == "missing"} == {"gap"}
    assert model._race.words.groups == pickle.loads(pickle.dumps(model)).groups


def test_the_groups_of_a_stream_are_reported_at_once():
    model = OnlineAutoMLRegressor(b=3)
    assert model.groups == {}
    model.learn_one({f"x{k}": 1.0 for k in range(40)}, 1.0)
    (reported,) = of(model.history, ColumnsGrouped)

    assert reported.groups == model.groups
    assert model.groups["x0, x1, 2 more"] == ["x0", "x1", "x2", "x3"]
