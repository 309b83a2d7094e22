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
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import Learner
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


def test_best_in_hindsight_is_never_worse_than_a_single_configuration():
    events, environment = run("best-in-hindsight")
    schema = stream_schema(environment.stream)
    losses = []
    for pair in (None, "ab", "ac", "ad", "bc", "bd", "cd"):
        configuration = VWConfiguration((tuple(pair),) if pair else ())
        own = Learner(schema, configuration).learn_many(
            environment.stream.features, environment.stream.labels
        )
        losses.append(np.mean((own.astype(float) - environment.stream.labels) ** 2))

    assert events[-1].score == pytest.approx(min(losses))
    (chosen,) = [e for e in events if isinstance(e, ChampionChanged)]
    admitted = [e for e in events if isinstance(e, ConfigurationAdmitted)]
    assert admitted[chosen.configuration].parameters["interactions"] == ["b × c"]


@pytest.mark.parametrize("tiny", [Tiny(), Tiny(classes=3)], ids=str)
def test_vanilla_predicts_as_vowpal_wabbit(tiny):
    vanilla, wheel = tiny_environment("stream", tiny), tiny_environment("stream", tiny)
    log = list(play("vanilla", Vanilla(), vanilla, seed=0))
    list(play("vw", registry.build("vw"), wheel, seed=0))
    assert np.array_equal(vanilla.predictions, wheel.predictions)
    assert vanilla.score().value == wheel.score().value
    assert log[0].capacity == 1
