"""The baselines next to vanilla: fixed sets, the best in hindsight, the frozen learner."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.chacha.baselines import Vanilla
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    LeaseGranted,
    Paused,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import make_learner
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.algorithms.testing import Tiny, tiny_environment


def stream(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 0.5, 1.0], (n, 4)).astype(np.float32)
    y = (x[:, 0] + 2 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)).astype(np.float32)
    spaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate("abcd"))
    return Stream(x, y, spaces, tuple("abcd"))


def run(name, settings=None, seed=0, data=None):
    environment = StreamEnvironment(data or stream())
    return list(play(name, registry.build(name, settings), environment, seed)), environment


def test_one_slot_is_vanilla_exactly():
    _, vanilla = run("vanilla")
    for name in ("chacha-literal", "chacha-flaml", "chacha"):
        _, environment = run(name, {"b": 1})

        assert np.array_equal(environment.predictions, vanilla.predictions)


def test_random_configurations_never_change():
    events, _ = run("random-configs", {"b": 3})

    assert sum(isinstance(e, LeaseGranted) for e in events) == 3
    assert sum(isinstance(e, ChampionChanged) for e in events) == 1
    assert not any(isinstance(e, Paused) for e in events)


def test_exhaustive_has_all_of_the_frontier_live():
    events, _ = run("exhaustive")

    assert sum(isinstance(e, LeaseGranted) for e in events) == 1 + 6


def test_best_in_hindsight_is_never_worse_than_a_single_configuration():
    events, environment = run("best-in-hindsight")
    schema = stream_schema(environment.stream)
    losses = []
    for pair in (None, "ab", "ac", "ad", "bc", "bd", "cd"):
        configuration = VWConfiguration((tuple(pair),) if pair else ())
        own = make_learner(schema, configuration).learn_many(
            environment.stream.features, environment.stream.labels
        )
        losses.append(environment.loss(own))

    assert events[-1].score == pytest.approx(min(losses))
    (chosen,) = [e for e in events if isinstance(e, ChampionChanged)]
    admitted = [e for e in events if isinstance(e, ConfigurationAdmitted)]
    assert admitted[chosen.configuration].parameters["interactions"] == ["b × c"]


def test_the_offline_learner_stops_learning():
    data = stream()
    _, offline = run("offline", {"share": 0.25}, data=data)
    _, vanilla = run("vanilla", data=data)
    schema = stream_schema(data)
    learner = make_learner(schema, VWConfiguration())
    learner.learn_many(data.features[:150], data.labels[:150])

    assert np.array_equal(offline.predictions[:150], vanilla.predictions[:150])
    assert np.array_equal(offline.predictions[150:], learner.predict_many(data.features[150:]))
    assert offline.score().metrics["models_per_example"] == 0.25


@pytest.mark.parametrize("tiny", [Tiny(), Tiny(classes=3)], ids=str)
def test_vanilla_predicts_as_vowpal_wabbit(tiny):
    vanilla, wheel = tiny_environment("stream", tiny), tiny_environment("stream", tiny)
    log = list(play("vanilla", Vanilla(), vanilla, seed=0))
    list(play("vw", registry.build("vw"), wheel, seed=0))
    assert np.array_equal(vanilla.predictions, wheel.predictions)
    assert vanilla.score().value == wheel.score().value
    assert log[0].capacity == 1


def test_options_of_vowpal_wabbit_change_what_it_predicts():
    _, plain = run("vw")
    _, crossed = run("vw", {"options": "--interactions bc"})
    assert crossed.score().value < 0.5 * plain.score().value
