"""Both engines take the same decisions: event logs and predictions are identical."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.log_format import to_json
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream


def product_stream(n=1500, d=6, seed=0):
    """Return a stream on which an interaction wins, so that the champion changes."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 0.0, 1.0], (n, d))
    y = x[:, 0] + 4 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)
    names = tuple("abcdef"[:d])
    return Stream(
        x.astype(np.float32),
        y.astype(np.float32),
        tuple(Namespace(name, i, i + 1) for i, name in enumerate(names)),
        names,
    )


def in_two_classes(stream):
    labels = np.where(stream.labels > np.median(stream.labels), 1, -1).astype(np.float32)
    return dataclasses.replace(stream, labels=labels, task="classification")


def run(name, settings, stream, seed=2345):
    environment = StreamEnvironment(stream)
    algorithm = registry.build(name, settings)
    log = [to_json(event) for event in play(name, algorithm, environment, seed)]
    return log[1:], environment.predictions


def assert_agreement(name, settings, stream):
    kernel_log, kernel = run(name, {**settings, "engine": "kernel"}, stream)
    vw_log, vw = run(name, {**settings, "engine": "vw"}, stream)

    assert kernel_log == vw_log
    assert np.array_equal(kernel, vw)
    return kernel_log


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("online-automl", {"b": 4, "round_length": 32, "tune": "interactions+learning-rate"}),
        ("chacha-literal", {"b": 8}),
        ("chacha-flaml", {"b": 8}),
        ("chacha", {"b": 8}),
    ],
)
def test_identical_events_on_a_stream_where_the_champion_changes(name, settings):
    log = assert_agreement(name, settings, product_stream())

    assert sum("ChampionChanged" in line for line in log) > 1


JOINT = {"tune": "interactions+learning-rate"}
OTHERS = {"vanilla": {}, "random-configs": {"b": 3}, "exhaustive": {}, "best-in-hindsight": {}}
REGRESSION = OTHERS | {"online-automl": JOINT, "chacha-no-champion": {}}
CLASSES = OTHERS | {
    "online-automl": {**JOINT, "b": 4, "round_length": 32},
    "chacha-literal": JOINT,
    "chacha-flaml": {"b": 8},
    "chacha": {"b": 8},
    "offline": {},
}


@pytest.mark.slow
def test_identical_events_of_the_others_and_of_two_classes():
    for name, settings in REGRESSION.items():
        assert_agreement(name, settings, product_stream(n=400))
    for name, settings in CLASSES.items():
        assert_agreement(name, settings, in_two_classes(product_stream(n=600)))


@pytest.mark.mirror
@pytest.mark.parametrize("number", [564, 344])
def test_identical_events_on_a_full_real_stream(number, mirror):
    stream = as_stream(loading.load(f"openml:{number}", mirrors=(mirror,)))

    assert_agreement("chacha", {}, stream)
