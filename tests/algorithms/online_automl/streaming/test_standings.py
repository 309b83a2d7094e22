"""What live models and the champion see is reported in words."""

import pickle

import numpy as np
import pytest

from leaseboard.algorithms.events import ColumnsGrouped, ConfigurationAdmitted, of
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)


def test_features_are_reported_by_their_kind():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    model = OnlineAutoMLRegressor(b=20)
    model.learn_many(x, x[:, 0])
    kinds = model._race.representations.variants(model._race.configurations[0])
    words = {model._race.words.features(one.namespaces) for one in kinds} | {"raw"}
    admitted = [event.parameters for event in of(model.history, ConfigurationAdmitted)]

    assert {row["features"] for row in model.live} <= words
    assert {one["features"] for one in admitted} == words
    assert model.champion["features"] in words
    assert not any("namespaces" in one for one in [*admitted, *model.live, model.champion])


def test_interactions_are_reported_by_the_names_of_features():
    """Dates, texts and gaps among them, in namespaces of one's own and in groups."""
    rng = np.random.default_rng(0)
    model = OnlineAutoMLRegressor({"weather": ["wind", "rain"]}, tune="interactions", b=40)
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
    assert {"weather × shop 1", "'a × b' × colour=red", "when: days × when: month"} <= reported
    assert model.groups["weather"] == ["rain", "wind"]
    assert {one.column for one in model._race.schema.origins if one.part == "missing"} == {"gap"}
    assert model._race.words.groups == pickle.loads(pickle.dumps(model)).groups


def test_the_season_is_reported_of_a_champion_that_sees_the_label_then():
    model = OnlineAutoMLRegressor()
    labels = np.tile(np.random.default_rng(0).normal(size=7), 60)
    model.learn_many(np.ones((420, 1)), labels)
    race = model._race
    sees = [race.representations.season in one.namespaces for one in race.configurations]

    assert race.notes()["season"] == 7
    race.champion = sees.index(True)
    assert model.champion["features"].endswith("seasonal lag")
    assert model.champion["season"] == 7
    race.champion = sees.index(False)
    assert "season" not in model.champion


def test_the_groups_of_a_stream_are_reported_at_once():
    model = OnlineAutoMLRegressor(b=3)
    assert model.groups == {}
    model.learn_one({f"x{k}": 1.0 for k in range(40)}, 1.0)
    (reported,) = of(model.history, ColumnsGrouped)

    assert reported.groups == model.groups
    assert model.groups["x0, x1, 2 more"] == ["x0", "x1", "x2", "x3"]
    assert reported.words(str)[1].startswith("x0, x1, 2 more = x0, x1, x2, x3; x4")


def test_of_many_classes_the_groups_are_reported_once():
    model = OnlineAutoMLClassifier(b=3)
    for t in range(40):
        model.learn_one({f"x{k}": float(t % 4 == k) for k in range(40)}, "abcd"[t % 4])

    assert len(model._race.races) == 3
    (reported,) = of(model.history, ColumnsGrouped)
    assert reported.groups == model.groups


@pytest.mark.parametrize(
    "model",
    [
        OnlineAutoMLRegressor(b=4, algorithm="chacha-literal"),
        OnlineAutoMLClassifier(b=4, tune="interactions"),
    ],
    ids=["paper", "classes"],
)
def test_where_all_see_the_same_nothing_is_reported(model):
    for t in range(100):
        model.learn_one({"a": t % 3 - 1.0, "b": 1.0}, t % 2)

    assert {*model.champion} == {"interactions", "learning_rate"}
