"""The kernel's progressive predictions equal those of the installed wheel, bit for bit.

Models side by side, in lanes, compute what each computes alone; a branch goes its own way.
"""

from __future__ import annotations

import numpy as np
import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import LOGISTIC, SQUARED
from leaseboard.algorithms.online.kernel_models import KernelModels, Learner
from leaseboard.algorithms.online.placement import predict_one
from leaseboard.algorithms.online.schema import Schema, generated, stream_schema
from leaseboard.algorithms.reference.vw import OPTIONS, Wheel, text_line
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream

WHEEL = f"vowpalwabbit {vowpalwabbit.__version__}"

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))


class ConfiguredWheel(Wheel):
    """Workspace of a configuration."""

    def __init__(self, schema, configuration, options=(), n_classes=0):
        super().__init__(schema, [*command_options(schema, configuration), *options], n_classes)

    def learn(self, row, label, importance):
        """Learn one example; return what was predicted before."""
        said = f"{float(np.float32(label)).hex()} {float(np.float32(importance)).hex()}"
        return self._pass(f"{said} {text_line(self.schema, row.tolist())}", learns=True)


def command_options(schema, configuration):
    """Return VW's options for `configuration`, as tokens.

    VW's ``--interactions`` names namespaces by their first letters. If that is not enough to
    distinguish them, ``--experimental_full_name_interactions`` is used.
    """
    tokens = ["--learning_rate", repr(configuration.learning_rate)]
    units = sorted(generated(each, schema.full_names) for each in configuration.interactions)
    for _, interaction in units:
        if schema.full_names:
            tokens += ["--experimental_full_name_interactions", "|".join(interaction)]
        else:
            tokens += ["--interactions", "".join(name[0] for name in interaction)]
    return tokens


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
@pytest.mark.parametrize("name", ["openml:564", "mirror:higgs_7500"])
def test_identical_on_full_real_streams(name, interactions, mirror):
    stream = as_stream(loading.load(name, mirrors=(mirror,)))
    configuration = VWConfiguration(tuple(map(tuple, interactions)))
    given_ = stream.features, stream.labels, stream.task
    assert_identical(*both(stream_schema(stream), configuration, *given_))


SETS = ["ab", "ac", "bd", "cc", "aad", "abd", "abcd", "dd"]


def configured(chosen, rate=0.5):
    return VWConfiguration(tuple(tuple(one) for one in chosen), rate)


def pool_of(schema, configurations, loss):
    models = KernelModels(schema, len(configurations), loss)
    for slot, configuration in enumerate(configurations):
        models.start(slot, configuration)
    return models


def learned(models, examples, labels, importances, groups):
    """Return what is predicted as the slots of one group after another learn the block."""
    block = (*map(np.ascontiguousarray, (examples, labels, importances)),)
    found = np.zeros((len(labels), len(models.layouts)), dtype=np.float32)
    for live in groups:
        models.learn(*block, live, found)
    return found


def assert_the_same(configurations, examples, labels, importances, loss):
    """Assert that predictions, tables, sums and ranges are the same bits in lanes and alone."""
    together, alone = (pool_of(GROUPS, configurations, loss) for _ in range(2))
    slots, block = np.arange(len(configurations)), (examples, labels, importances)
    one, other = learned(together, *block, slots[None]), learned(alone, *block, slots[:, None])
    np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))
    together.leave_lanes()
    for name in ("tables", "sums", "labels"):
        mine, its = (np.asarray(getattr(models.pool, name)) for models in (together, alone))
        np.testing.assert_array_equal(mine.view(np.int32), its.view(np.int32), err_msg=name)


@pytest.mark.parametrize(
    ("chosen", "bits", "alone"),
    [
        ([[]], 18, 1),  # measured, in microseconds an example: .12 in lanes, .09 alone
        ([[], []], 18, 0),  # .13, .18
        ([[], ["ab"], [], ["ac"], []], 18, 0),  # .13, .45
        ([["abcd", "abd", "aad", "cc", "aa"], [], [], []], 18, 1),
        ([[], [], ["ab", "cd", "cc"]], 3, 3),  # terms share cells
    ],
)
def test_models_go_where_they_are_faster(chosen, bits, alone):
    schema = Schema(GROUPS.namespaces, GROUPS.columns, GROUPS.features, bits=bits)
    models = pool_of(schema, [configured(one) for one in chosen], SQUARED)
    features, labels = random_stream(0, n=10)
    learned(models, features, labels, np.ones_like(labels), [np.arange(len(chosen))])

    assert models.pool.n_single == alone


extremes = values | st.sampled_from([-0.0, 1e-38, 3e38, -3e38])


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.lists(extremes, min_size=7, max_size=7), min_size=8, max_size=16),
    chosen=st.lists(st.lists(st.sampled_from(SETS), max_size=3, unique=True), min_size=4),
    rate=st.sampled_from([1e-4, 0.5, 2.0]),
    loss=st.sampled_from([SQUARED, LOGISTIC]),
    importances=st.lists(st.sampled_from([0.0, 0.5, 1.0, 1e30]), min_size=16, max_size=16),
)
def test_any_numbers(rows, chosen, rate, loss, importances):
    block = np.array(rows, dtype=np.float32)
    weights = np.array(importances[: len(rows)], dtype=np.float32)
    examples, labels = np.ascontiguousarray(block[:, :6]), block[:, 6].copy()
    if loss == LOGISTIC:
        labels = np.where(labels > 0, np.float32(1), np.float32(-1))
    configurations = [configured(one, rate) for one in chosen]
    assert_the_same(configurations, examples, labels, weights, loss)


def test_nothing_is_refused_in_the_place_of_models():
    row = np.zeros(6, np.float32)
    with pytest.raises(TypeError, match="None"):
        predict_one(row, np.zeros(1, np.int64), None, row)


def test_a_branch_starts_with_its_parents_prediction_and_goes_its_own_way():
    parent, wider, faster = (("ab",), 2.0), (("ab", "bc"), 2.0), (("ab",), 8.0)
    features, labels = random_stream(seed=4, n=60)
    models, slots, ones = KernelModels(GROUPS, 4), np.arange(4), np.ones(60, np.float32)
    found = np.zeros((60, 4), dtype=np.float32)
    models.start(0, configured(*parent))
    models.learn(features[:40], labels[:40], ones[:40], slots[:1], found[:40])
    for slot, branch in enumerate((parent, wider, faster), start=1):
        models.start(slot, configured(*branch), parent=0)
    models.learn(features[40:], labels[40:], ones[40:], slots, found[40:])

    assert found[40:, 1].tolist() == found[40:, 0].tolist()
    assert (found[40, 1:] == found[40, 0]).all()
    assert (found[41, 2:] != found[41, 0]).all()
