"""Chances of classes by Vowpal Wabbit's --oaa, of the wheel and of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from vowpalwabbit import Workspace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.one_against_all import make_one_against_all
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream

SCHEMA = Schema(("a", "b"), ((0,), (1,)), ("x", "y"))

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))


def learner(engine="auto", **given):
    return make_one_against_all(engine, SCHEMA, VWConfiguration(), 3, **given)


def sample(n=300):
    x = np.random.default_rng(0).normal(size=(n, 2)).round(3).astype(np.float32)
    return x, np.digitize(x[:, 0], [-0.5, 0.5])


def assert_identical(schema, configuration, features, numbers, n_classes):
    """Assert that probabilities of the kernel and of the wheel are the same to the last bit."""
    kernel, wheel = (
        make_one_against_all(engine, schema, configuration, n_classes)(features, numbers)
        for engine in ("kernel", "vw")
    )
    assert np.count_nonzero(kernel.view(np.int64) != wheel.view(np.int64)) == 0


@pytest.mark.parametrize("engine", ["kernel", "vw"])
def test_chances_are_those_that_vowpal_wabbit_gives_to_its_own_text(engine):
    x, numbers = sample()
    found = learner(engine)(x, numbers)
    workspace = Workspace("--oaa 3 --loss_function logistic --probabilities --quiet")
    for row, number, probabilities in zip(
        x.tolist(), numbers.tolist(), found.tolist(), strict=True
    ):
        text = f"|a x:{row[0]} |b y:{row[1]}"
        assert workspace.predict(text) == pytest.approx(probabilities, rel=1e-4)
        workspace.learn(f"{number + 1} {text}")

    assert found.sum(axis=1) == pytest.approx(1)
    assert (found.argmax(axis=1)[100:] != numbers[100:]).mean() < 0.2


def test_options_that_vowpal_wabbit_refuses_are_named():
    with pytest.raises(UsageError, match=r"Vowpal Wabbit refuses .*--nonsense: "):
        learner(vw_options="--nonsense")


def test_further_options_are_for_the_workspace():
    x, numbers = sample()
    plain, other = learner()(x, numbers), learner(vw_options="--l2 1e-2")(x, numbers)
    assert np.abs(other - plain).max() > 0.01
    with pytest.raises(UsageError, match="'kernel' cannot train with --l2 1e-6"):
        learner("kernel", vw_options="--l2 1e-6")


@pytest.mark.parametrize("bits", [18, 6, 4], ids="{} bits".format)
@pytest.mark.parametrize("n_classes", [3, 4, 7, 26])
@pytest.mark.parametrize("interactions", [[], ["ab", "bd", "abc"], ["aa"]], ids=str)
def test_identical_whether_weights_of_classes_collide_or_not(bits, n_classes, interactions):
    schema = Schema(GROUPS.namespaces, GROUPS.columns, GROUPS.features, bits=bits)
    rng = np.random.default_rng(n_classes)
    scale = 10.0 ** rng.integers(-3, 4, 6)
    features = (rng.normal(size=(400, 6)) * scale).astype(np.float32)
    features[rng.random(features.shape) < 0.2] = 0
    features[::9, 0] *= np.float32(1e-9)  # next to 0, the wheel predicts without it
    numbers = (features @ (rng.normal(size=(6, n_classes)) / scale[:, None])).argmax(axis=1)
    configuration = VWConfiguration(tuple(map(tuple, interactions)))

    assert_identical(schema, configuration, features, numbers, n_classes)


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["letter", "shuttle"])
def test_identical_on_full_real_streams(name, mirror):
    stream = as_stream(loading.load(f"mirror:{name}", mirrors=(mirror,)))
    numbers = stream.labels.astype(np.int64)

    assert_identical(
        stream_schema(stream), VWConfiguration(), stream.features, numbers, len(stream.classes)
    )
