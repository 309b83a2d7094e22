"""The kernel's progressive predictions equal those of the installed wheel, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_models import Learner
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.reference.vw import OPTIONS
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream
from tests.algorithms.wheel import ConfiguredWheel

WHEEL = f"vowpalwabbit {vowpalwabbit.__version__}"

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))


def learners(schema, configuration, task="regression"):
    """Return the same model of the kernel and of the wheel."""
    return Learner(schema, configuration, task), ConfiguredWheel(
        schema, configuration, OPTIONS[task]
    )


def both(schema, configuration, features, labels, task="regression"):
    return [model.learn_many(features, labels) for model in learners(schema, configuration, task)]


def assert_identical(kernel, wheel):
    differing = np.flatnonzero(kernel.view(np.int32) != wheel.view(np.int32))
    assert not len(differing), (
        f"{WHEEL} differs from the kernel in {len(differing)} predictions,"
        f" first at {differing[0]}: {wheel[differing[0]]!r} against {kernel[differing[0]]!r}"
    )


def random_stream(seed, n=600, d=6):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)).astype(np.float32) * np.float32(10) ** rng.integers(
        -3, 4, d
    )
    features[rng.random((n, d)) < 0.2] = 0
    labels = (features @ rng.normal(size=d) * 0.01 + rng.normal(size=n)).astype(np.float32)
    return features.astype(np.float32), labels


def classes(labels):
    return np.where(labels > 0, 1, -1).astype(np.float32)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_identical_with_importances_and_in_every_cell(task):
    configuration = VWConfiguration((("a", "b"), ("b", "d")), 0.7)
    features, labels = random_stream(seed=1)
    importances = np.random.default_rng(1).exponential(size=len(labels)).astype(np.float32)
    importances[::7] = 0
    labels = classes(labels) if task == "classification" else labels
    learner, wheel = learners(GROUPS, configuration, task)
    examples = zip(features, labels.tolist(), importances.tolist(), strict=True)
    kernel = learner.learn_many(features, labels, importances)
    found = np.array([wheel.learn(*example) for example in examples], dtype=np.float32)
    at = wheel.workspace.get_weight
    cells = [
        [at(index, k) for k in range(4)] for index in learner.models.layouts[0].indices.tolist()
    ]

    assert_identical(kernel, found)
    learner.models.leave_lanes()
    assert np.asarray(learner.models.pool.tables)[0].tolist() == cells


def test_identical_when_hashes_collide():
    crowded = Schema(GROUPS.namespaces, GROUPS.columns, GROUPS.features, bits=2)
    configuration = VWConfiguration((("a", "c"), ("a", "b", "d")))
    assert_identical(*both(crowded, configuration, *random_stream(seed=7)))


@pytest.mark.parametrize(
    "names", [("user", "price", "item"), ("price", "item", "people"), ("b1", "b0", "b2")]
)
def test_identical_with_namespaces_of_many_letters(names):
    words = Schema(names, ((0, 1), (2, 3), (4, 5)), ("x", "yy", "3", "four", "z5", "x"))
    configuration = VWConfiguration((names[:2], names[1:], names))
    assert_identical(*both(words, configuration, *random_stream(seed=3)))


values = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 1.0, -1.0, 1e-20, 1e-25])


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.lists(values, min_size=7, max_size=7), min_size=1, max_size=12),
    interactions=st.lists(
        st.sampled_from(["ab", "ac", "bd", "cc", "aad", "abd", "abcd"]), max_size=3
    ),
    rate=st.sampled_from([1e-4, 0.01, 0.5, 2.0, 100.0]),
    task=st.sampled_from(["regression", "classification"]),
)
def test_identical_on_random_inputs(rows, interactions, rate, task):
    block = np.array(rows, dtype=np.float32)
    configuration = VWConfiguration(tuple(map(tuple, interactions)), rate)
    features, labels = np.ascontiguousarray(block[:, :6]), block[:, 6].copy()
    labels = classes(labels) if task == "classification" else labels
    assert_identical(*both(GROUPS, configuration, features, labels, task))


@pytest.mark.mirror
@pytest.mark.parametrize("interactions", [[], ["ab", "cd", "abc"], ["aa", "bc"]], ids=str)
@pytest.mark.parametrize(
    "name", ["openml:564", "openml:344", "openml:1199", "mirror:magic04", "mirror:higgs_7500"]
)
def test_identical_on_full_real_streams(name, interactions, mirror):
    stream = as_stream(loading.load(name, mirrors=(mirror,)))
    configuration = VWConfiguration(tuple(map(tuple, interactions)))
    given_ = stream.features, stream.labels, stream.task
    assert_identical(*both(stream_schema(stream), configuration, *given_))
