"""ChaCha as published: step by step, its baselines, its classes in Python."""

import math
import pickle

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.chacha.presets import (
    ChaChaClassifier,
    ChaChaRegressor,
    Flaml,
    Paper,
    Vanilla,
)
from leaseboard.algorithms.chacha.published_race import PublishedRace
from leaseboard.algorithms.chacha.state import better, epsilon_flaml, epsilon_paper, worse
from leaseboard.algorithms.checks import Tiny, schema_of, tiny_environment
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    to_json,
)
from leaseboard.algorithms.online.kernel import KernelModels
from leaseboard.algorithms.online.schema import Schema, VWConfiguration
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.tasks.models.model import load_file

SCHEMA = Schema(tuple("abcd"), ((0,), (1,), (2,), (3,)), tuple("0123"))


PAPER, FLAML = Paper().rules(), Flaml().rules()


def opened(b, oracle, rules=PAPER, seed=0):
    race = PublishedRace(
        SCHEMA, KernelModels(SCHEMA, b), oracle, np.random.RandomState(seed), rules
    )
    return race, list(race.open())


def numbers(race):
    """Return who is live, by slot."""
    return race.holders[race.live].tolist()


def decide(race, at):
    race.steps.at = at
    return list(race.decide())


def set_losses(race, losses, n, epsilon=0.01):
    """Pretend that the live models have learned `n` examples."""
    for number, loss in losses.items():
        row = race.slots[race.slot_of(number)]
        row["n"], row["loss"], row["epsilon"] = n, loss, epsilon
        row["lower"], row["upper"] = loss - epsilon, loss + epsilon


def test_a_proven_challenger_becomes_champion_and_brings_its_frontier():
    asked = []

    def oracle(champion, namespaces, random):
        asked.append(champion.learning_rate)
        return [VWConfiguration((), champion.learning_rate * 2)]

    race, _ = opened(2, oracle)
    set_losses(race, {0: 1.0, 1: 0.5}, n=10, epsilon=0.1)
    events = decide(race, 10)

    assert asked == [0.5, 1.0]
    assert [e for e in events if isinstance(e, ChampionChanged)] == [
        ChampionChanged(at=10, configuration=1, previous=0)
    ]
    # literally, the old champion is neither C nor in S: it makes room
    assert [e.configuration for e in events if isinstance(e, Eliminated)] == [0]
    (admitted,) = [e for e in events if isinstance(e, ConfigurationAdmitted)]
    assert (admitted.parameters["learning_rate"], admitted.parent) == (2.0, 1)
    assert numbers(race) == [2, 1]


def test_epsilon_of_the_appendix():
    # a = 0.05 * 20 = 1; 11 ln(1000 * 45 / 0.1) / 1000 = 0.011 * 13.01700...
    epsilon = epsilon_paper(1000, 11, 45, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.011 * 13.0170028), rel=1e-7)


def test_epsilon_of_the_authors_code():
    # a = 1; sqrt(11) sqrt(log10(10000) / 1000) = sqrt(11 * 4 / 1000)
    epsilon = epsilon_flaml(1000, 11, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.044))


def test_better_asks_for_a_gap_of_the_champions_epsilon():
    assert better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.4)
    assert not better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.5)


def test_worse_with_and_without_the_authors_margin():
    assert worse(1.2, 0.1, champion_upper=1.15, margin=0.0)
    assert not worse(1.2, 0.1, champion_upper=1.15, margin=1.0)
    assert not worse(1.15, 0.1, champion_upper=1.15, margin=0.0)


def stream(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 0.5, 1.0], (n, 4)).astype(np.float32)
    y = (x[:, 0] + 2 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)).astype(np.float32)
    return Stream(x, y, schema_of(*"abcd"))


def run(name, settings=None, seed=0, data=None):
    environment = StreamEnvironment(data or stream())
    return list(play(name, registry.build(name, settings), environment, seed)), environment


def test_one_slot_is_vanilla_exactly():
    _, vanilla = run("vanilla")
    for name in ("chacha-literal", "chacha-flaml", "chacha"):
        _, environment = run(name, {"b": 1})

        assert np.array_equal(environment.predictions, vanilla.predictions)


@pytest.mark.parametrize("tiny", [Tiny(), Tiny(classes=3)], ids=str)
def test_vanilla_predicts_as_vowpal_wabbit(tiny):
    vanilla, wheel = tiny_environment("stream", tiny), tiny_environment("stream", tiny)
    log = list(play("vanilla", Vanilla(), vanilla, seed=0))
    list(play("vw", registry.build("vw"), wheel, seed=0))
    assert np.array_equal(vanilla.predictions, wheel.predictions)
    assert vanilla.score().value == wheel.score().value
    assert log[0].capacity == 1


X = np.random.default_rng(0).normal(size=(600, 4))
Y = X[:, 0] * X[:, 1]


@pytest.mark.parametrize("algorithm", ["chacha", "chacha-flaml", "chacha-literal"])
@pytest.mark.parametrize(
    ("paper", "ours"),
    [(ChaChaRegressor, OnlineAutoMLRegressor), (ChaChaClassifier, OnlineAutoMLClassifier)],
)
def test_a_model_is_its_registered_algorithm_also_in_files_and_pickles(
    paper, ours, algorithm, tmp_path
):
    labels = Y if paper is ChaChaRegressor else np.where(Y > 0, "up", "down")
    model, same = paper(algorithm=algorithm, b=3), ours(algorithm=algorithm, b=3)
    for each in (model, same):
        each.learn_many(X, labels)
    model.about = {"target": "y", "columns": {}}
    model.save(tmp_path / "model")
    stream = load_file(tmp_path / "model")

    assert model.history == same.history
    for each in (paper.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), stream.model):
        assert (type(each), each.algorithm) == (paper, algorithm)
        assert [*map(to_json, each.history)] == [*map(to_json, model.history)]
        assert list(each.predict_many(X[:9])) == list(same.predict_many(X[:9]))


def test_a_third_class_is_refused_and_changes_nothing():
    model = ChaChaClassifier()
    model.learn_many(X[:9], ["a", "b"] * 4 + ["a"])
    before = model.dump()
    with pytest.raises(UsageError, match=r"^class 'c' is a third one, .* OnlineAutoMLClassifier"):
        model.learn_one({"x": 1.0}, "c")
    assert (model.dump(), model.classes) == (before, ["a", "b"])
