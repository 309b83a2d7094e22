"""Models side by side compute what each computes alone, and what the wheel does, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import LOGISTIC, SQUARED
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.placement import predict_one
from leaseboard.algorithms.online.schema import Schema

GROUPS = Schema(("a", "b", "c", "d"), ((0, 1), (2,), (3, 4), (5,)), tuple("012345"))
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


def assert_the_same(
    schema, configurations, examples, labels, importances=None, *, blocks=1, loss=SQUARED
):
    """Assert that predictions, tables, sums and ranges are the same bits in lanes and alone."""
    if importances is None:
        importances = np.ones(len(labels), dtype=np.float32)
    together, alone = (pool_of(schema, configurations, loss) for _ in range(2))
    slots = np.arange(len(configurations))
    for part in np.array_split(np.arange(len(labels)), blocks):
        block = examples[part], labels[part], importances[part]
        one = learned(together, *block, slots[None])
        other = learned(alone, *block, slots[:, None])
        np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))
    together.leave_lanes()
    for name in ("tables", "sums", "labels"):
        mine, its = (np.asarray(getattr(models.pool, name)) for models in (together, alone))
        np.testing.assert_array_equal(mine.view(np.int32), its.view(np.int32), err_msg=name)


def random_stream(seed, n=300, d=6):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    features[rng.random((n, d)) < 0.2] = 0
    labels = features @ rng.normal(size=d) * 0.01 + rng.normal(size=n)
    return features.astype(np.float32), labels.astype(np.float32)


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


values = st.floats(-1e6, 1e6, width=32) | st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 1e-20, 1e-25, 1e-38, 3e38, -3e38]
)


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.lists(values, min_size=7, max_size=7), min_size=8, max_size=16),
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
    assert_the_same(GROUPS, configurations, examples, labels, weights, loss=loss)


def test_nothing_is_refused_in_the_place_of_models():
    row = np.zeros(6, np.float32)
    with pytest.raises(TypeError, match="None"):
        predict_one(row, np.zeros(1, np.int64), None, row)
