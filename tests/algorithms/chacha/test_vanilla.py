"""Vanilla is one learner over the whole stream."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.stream import Namespace, Stream, StreamBench
from leaseboard.algorithms.chacha.baselines import Vanilla
from leaseboard.algorithms.events import ConfigurationAdmitted, Finished, of
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.one_against_all import make_one_against_all
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.algorithms.online.workspace import WorkspaceLearner
from leaseboard.algorithms.tiny import Tiny, tiny_bench


def friedman(n=500):
    rng = np.random.default_rng(0)
    x = rng.random((n, 10)).round(3)
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=n)
    return Stream(
        x.astype(np.float32),
        y.astype(np.float32),
        tuple(Namespace("abcdefghij"[i], i, i + 1) for i in range(10)),
        tuple(f"x{i + 1}" for i in range(10)),
    )


def test_predictions_are_those_of_a_workspace():
    bench = StreamBench(friedman())
    auditor = Auditor()
    for event in play("vanilla", Vanilla(), bench, seed=0):
        auditor(event)
    auditor.close()

    assert isinstance(event, Finished)
    workspace = WorkspaceLearner(stream_schema(bench.stream), VWConfiguration())
    expected = [
        workspace.learn(x, y)
        for x, y in zip(bench.stream.features, bench.stream.labels, strict=True)
    ]
    assert bench.predictions.tolist() == expected
    assert event.score == np.mean((np.array(expected) - bench.stream.labels) ** 2, dtype=float)


def test_vanilla_learns_many_classes_by_one_workspace():
    bench = tiny_bench("stream", Tiny(classes=3))
    log = list(play("vanilla", Vanilla(), bench, seed=0))
    schema, stream = stream_schema(bench.stream), bench.stream
    learner = make_one_against_all("vw", schema, VWConfiguration(), 3)
    chances = learner.learn_many(stream.features, stream.labels.astype(int))
    wrong = chances.argmax(axis=1) != stream.labels
    wrong[np.unique(stream.labels, return_index=True)[1]] = True
    (admitted,) = of(log, ConfigurationAdmitted)

    assert bench.score().value == wrong.mean()
    assert admitted.parameters["oaa"] == 3
    assert log[0].capacity == 1
