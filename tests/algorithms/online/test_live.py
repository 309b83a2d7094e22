"""Live models: handles of their arrays, and branches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import entry, handle_of, quick
from leaseboard.algorithms.online.kernel import Pool, open_pool
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.schema import Schema

SMALL = Schema(("a", "b"), ((0, 1), (2,)), ("0", "1", "2"))
GROWN = Schema(("a", "b"), ((0, 1), (2, 3)), ("0", "1", "2", "3"))
CROSSED = VWConfiguration((("a", "b"),), 2.0)


def empty():
    return KernelModels(SMALL, 3)


def pool():
    made = empty()
    made.start(0, VWConfiguration())
    return made


def grown():
    made = pool()
    made.start(1, CROSSED)
    made.grow(GROWN)
    return made


@pytest.mark.parametrize("make", [empty, pool, grown])
def test_it_opens_the_very_arrays_of_its_pool(make):
    made = make()
    made.pool.tables[...] += 1.0
    opened = open_pool(made.handle)

    for array, own in zip(opened, made.pool, strict=True):
        assert (array.shape, array.dtype) == (own.shape, own.dtype)
        assert array.tobytes() == own.tobytes()
    opened[0][...] = 7.0
    assert (made.pool.tables == 7.0).all()


def test_an_entry_calls_what_it_was_made_of():
    made = pool()

    place = Pool._fields.index("n_terms")
    assert entry(open_pool, made.handle)(made.handle)[place].tolist() == made.pool.n_terms.tolist()
    with pytest.raises(TypeError):
        entry(open_pool, made.handle)(1.0)


class Pair(NamedTuple):
    one: NDArray[np.float64]
    other: NDArray[np.float64]


@quick
@njit
def difference(pair, scale):
    return scale * (pair.one[0] - pair.other[0])


def test_a_quick_call_takes_read_only_arrays_and_others_alike():
    three, one = np.array([3.0]), np.array([1.0])
    assert difference(Pair(three, one), 2.0) == 4.0
    assert difference(Pair(uniform(one), uniform(three)), 0.5) == -1.0
    for wrong in (Pair(three, 1.0), Pair(three, np.float32(one))):
        with pytest.raises(TypeError):
            difference(wrong, 1.0)


def test_an_array_with_gaps_in_memory_has_none():
    with pytest.raises(ValueError, match="contiguous"):
        handle_of(np.zeros((3, 2))[:, 0])


SCHEMA = Schema(("a", "b", "c"), ((0, 1), (2,), (3,)), ("0", "1", "2", "3"))
PARENT = VWConfiguration((("a", "b"),), 2.0)
WIDER = VWConfiguration((("a", "b"), ("b", "c")), 2.0)
FASTER = VWConfiguration((("a", "b"),), 8.0)


def examples(n):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = 0
    labels = (features[:, 1] * features[:, 2] + features[:, 3] + 5).astype(np.float32)
    return uniform(features), uniform(labels)


def run(models, branches):
    """Return predictions of 60 examples; `branches` leave slot 0 after 40 of them."""
    features, labels = examples(60)
    ones = uniform(np.ones(60, dtype=np.float32))
    slots = np.arange(1 + len(branches))
    predictions = np.zeros((60, len(slots)), dtype=np.float32)
    models.start(0, PARENT)
    models.learn(features[:40], labels[:40], ones[:40], slots[:1], predictions[:40])
    for slot, configuration in zip(slots[1:].tolist(), branches, strict=True):
        models.start(slot, configuration, parent=0)
    models.learn(features[40:], labels[40:], ones[40:], slots, predictions[40:])
    return predictions


def test_a_branch_starts_with_its_parents_prediction_and_goes_its_own_way():
    predictions = run(KernelModels(SCHEMA, 4), [PARENT, WIDER, FASTER])

    assert predictions[40:, 1].tolist() == predictions[40:, 0].tolist()
    assert (predictions[40, 1:] == predictions[40, 0]).all()
    assert (predictions[41, 2:] != predictions[41, 0]).all()


def test_predicting_is_what_learning_would_have_predicted():
    models = KernelModels(SCHEMA, 2)
    features, labels = examples(20)
    live, row = np.array([1]), np.zeros(2, dtype=np.float32)
    models.start(1, WIDER)
    learned = np.zeros((1, 2), dtype=np.float32)
    for example, label in zip(features, labels, strict=True):
        models.predict(example, live, row)
        block = example[None], np.array([label]), np.ones(1, np.float32)
        models.learn(*map(uniform, block), live, learned)

        assert row[1] == learned[0, 1]
