"""The kernel's probabilities of classes equal those of the wheel's --oaa, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.one_against_all import OneAgainstAll
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.reference.vw import OPTIONS
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream
from tests.algorithms.wheel import ConfiguredWheel

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))


def assert_identical(schema, configuration, features, numbers, n_classes):
    """Assert that probabilities of the kernel and of the wheel are the same to the last bit."""
    kernel = OneAgainstAll(schema, configuration, n_classes).learn_many(features, numbers)
    wheel = ConfiguredWheel(schema, configuration, OPTIONS["classification"], n_classes)
    found = wheel.learn_many(features, numbers)
    assert np.count_nonzero(kernel.view(np.int64) != found.view(np.int64)) == 0


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
