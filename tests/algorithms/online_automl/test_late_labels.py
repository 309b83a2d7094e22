"""Classes: whose labels come later, and many of them."""

import math

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import Tiny, tiny_environment
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.events import (
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    of,
)
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.online_automl.class_mixture import N_EXPERTS
from leaseboard.algorithms.online_automl.one_vs_rest import FIRST, OneVsRest
from leaseboard.algorithms.online_automl.racing import racing_of
from leaseboard.algorithms.online_automl.safe.bayes import regret_bound
from leaseboard.algorithms.reference.ridge import OnlineRidge
from tests.algorithms.played import ended


def errors_of(names, x, y, n_classes, labels):
    """Return the error of each algorithm on classes, the first that comes being that of 1.0."""
    places = dict[int, int]()
    y = np.array([places.setdefault(each, len(places)) for each in y.tolist()], dtype=np.float32)
    classes = tuple(map(str, range(n_classes))) if n_classes > 2 else ()
    y = y if classes else 1 - 2 * y
    schema = Schema(("all",), ((0, 1),), ("a", "b"), origins=(Origin("a"), Origin("b")))
    stream, errors = Stream(x, y, schema, "classification", classes=classes), {}
    for name in names:
        env = StreamEnvironment(stream, arrival=Arrival.parse(labels))
        ended(registry.build(name).run(env, 0))
        errors[name] = env.score().value
    return errors


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("helps", ["the last class", "a feature"])
def test_late_classes_are_predicted_by_what_was_right_late(helps, n_classes):
    rng, n = np.random.default_rng(0), 2000
    x = rng.normal(size=(n, 2)).astype(np.float32)
    runs = np.arange(n) // 400 % n_classes
    y = runs if helps == "the last class" else np.digitize(x[:, 0], [0.0, 1.0][: n_classes - 1])
    names = ("online-automl", "last-label", "online-ridge")
    errors = errors_of(names, x, y, n_classes, "after=24")
    assert errors["online-automl"] <= 1.3 * min(errors.values()), errors


@pytest.mark.parametrize("labels", ["after=24", "after=200"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_that_is_sorted_by_class_is_predicted_as_by_the_last_class(n_classes, labels):
    n = 3000
    x = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    errors = errors_of(
        ("online-automl", "last-label"), x, np.arange(n) * n_classes // n, n_classes, labels
    )
    assert errors["online-automl"] <= 1.01 * errors["last-label"], errors


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
    given = list(map(str, range(classes)))
    whole = OneVsRest(lambda schema: racing.race(schema, 0, "classification"), schema, names=given)
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
