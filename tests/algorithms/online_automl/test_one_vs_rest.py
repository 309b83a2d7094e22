"""Many classes: against simple predictions, in any blocks, with classes that come late."""

import math

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import Tiny, tiny_environment
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    of,
)
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.class_mixture import N_EXPERTS
from leaseboard.algorithms.online_automl.one_vs_rest import FIRST, OneVsRest
from leaseboard.algorithms.online_automl.racing import racing_of
from leaseboard.algorithms.online_automl.safe.bayes import regret_bound
from leaseboard.algorithms.reference.ridge import OnlineRidge

D = 3
SCHEMA = Schema(("a", "b", "c"), ((0,), (1,), (2,)), ("x", "y", "z"))


def fresh(algorithm="online-automl", **settings):
    racing = racing_of(algorithm, {"b": 4} | settings)
    races = OneVsRest(lambda schema: racing.race(schema, 0, "classification"), SCHEMA)
    return races, list(races.open())


def in_order(classes):
    names = {}
    return np.array([names.setdefault(one, len(names)) for one in classes.tolist()])


def learned(races, x, classes):
    return races.learn(x, classes)


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha"])
def test_frequencies_are_never_better_by_more_than_the_bound(algorithm):
    """Thirty classes, a new one after 50 examples; from the third on."""
    rng = np.random.default_rng(2)
    known = np.repeat(np.arange(30), 50)
    classes = in_order(rng.integers(0, known + 1))
    x = rng.normal(size=(len(classes), D)).astype(np.float32)
    races, _ = fresh(algorithm, b=2)
    probabilities = learned(races, x, classes)
    counts, own, frequency, worst = np.zeros(30), 0.0, 0.0, 0.0
    for probability, number in zip(probabilities, classes.tolist(), strict=True):
        n_classes = int((counts > 0).sum())
        if counts[number] and n_classes > 2:
            own -= np.log(probability[number])
            share = (counts[number] + 0.5) / (counts.sum() + 0.5 * n_classes)
            frequency -= np.log(share)
            worst = max(worst, own - frequency)
        counts[number] += 1

    assert worst <= regret_bound(N_EXPERTS)


@pytest.mark.parametrize(
    ("classes", "features"),
    [(3, 64), (3, 65), (3, 1024), (3, 1025), (15, 1024), (16, 992), (16, 993), (16, 994),
     (20, 893), (20, 894), (100, 407), (100, 408)],
)  # fmt: skip
def test_races_and_the_leaderboard_have_ridge_on_the_same_features(classes, features):
    names = tuple(map(str, range(features)))
    schema = Schema(("a",), (tuple(range(features)),), names)
    racing = racing_of("online-automl", {"b": 1})
    whole = OneVsRest(lambda schema: racing.race(schema, 0, "classification"), schema, classes)
    expansion = whole.races[0].ensemble.expansion
    ridge = OnlineRidge().predictor(features, "classification", classes).rest

    on_all = len(expansion.ridge.weights) == 1 + features
    assert on_all == hasattr(ridge, "triangle")
    assert on_all == (features <= min(1024, math.isqrt(2**24 // (classes + 1))))
    if not on_all:
        assert expansion.memory.shape == ridge.expansion.memory.shape
    assert (classes + 1) * expansion.ridge.triangle.nbytes <= 2**27 + 2**20
    assert (classes + 1) * expansion.memory.nbytes <= 2**24 + 2**21


def test_the_champion_is_the_whole_with_one_of_each_class():
    environment = tiny_environment("stream", Tiny(classes=3))
    log = list(play("online-automl", registry.build("online-automl", {"b": 4}), environment, 0))
    (champion,) = of(log, ChampionChanged)
    (scored,) = of(log, ConfigurationScored)
    whole = of(log, ConfigurationAdmitted)[-1]
    first, *others = environment.stream.classes

    assert champion.configuration == scored.configuration == whole.configuration
    assert scored.value == environment.score().value
    assert [*whole.parameters] == [first, *others]
    assert whole.parameters[first] == FIRST
    last = {e.label: e.configuration for e in of(log, ClassChampionChanged)}
    known = {e.configuration: dict(e.parameters) for e in of(log, ConfigurationAdmitted)}
    for label in others:
        assert {"class": label, **whole.parameters[label]} == known[last[label]]
