"""What live models and the champion see is told in words."""

import numpy as np
import pytest

from algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor
from algorithms.events import ConfigurationAdmitted, of


def test_features_are_told_by_their_kind():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    model = ChaChaRegressor(b=20)
    model.learn_many(x, x[:, 0])
    words = {
        f"{kind}{past}"
        for kind in ("as they are", "standardised", "standardised, in pieces")
        for past in ("", ", last", ", last, season")
    }
    admitted = [event.parameters for event in of(model.history, ConfigurationAdmitted)]

    assert {row["features"] for row in model.live} <= words
    assert {one["features"] for one in admitted} == words
    assert model.champion["features"] in words
    assert not any("namespaces" in one for one in [*admitted, *model.live, model.champion])


@pytest.mark.parametrize(
    "model",
    [ChaChaRegressor(b=4, algorithm="chacha-paper"), ChaChaClassifier(b=4, tune="interactions")],
    ids=["paper", "classes"],
)
def test_where_all_see_the_same_nothing_is_told(model):
    for t in range(100):
        model.learn_one({"a": t % 3 - 1.0, "b": 1.0}, t % 2)

    assert {*model.champion} == {"interactions", "learning_rate"}
