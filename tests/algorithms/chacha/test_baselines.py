"""The baselines of ChaCha: what is one slot, and Vowpal Wabbit itself."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.chacha.presets import Vanilla
from leaseboard.algorithms.checks import Tiny, schema_of, tiny_environment
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment


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
