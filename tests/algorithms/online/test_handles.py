"""A handle finds the arrays that a pool has, and those of a copy, wherever they are."""

import copy
import pickle

import numpy as np
import pytest

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import entry, handle_of
from leaseboard.algorithms.online.live import Pool, open_pool
from leaseboard.algorithms.online.schema import Schema

SCHEMA = Schema(("a", "b"), ((0, 1), (2,)), ("0", "1", "2"))
WIDER = Schema(("a", "b"), ((0, 1), (2, 3)), ("0", "1", "2", "3"))
CROSSED = VWConfiguration((("a", "b"),), 2.0)
NAMES = (
    "tables",
    "sums",
    "labels",
    "rates",
    "factors",
    "cells",
    "n_terms",
    "values",
    "places",
    "outputs",
)


def pool():
    made = Pool(SCHEMA, 3)
    made.start(0, VWConfiguration())
    return made


def grown():
    made = pool()
    made.start(1, CROSSED)
    made.grow(WIDER)
    return made


@pytest.mark.parametrize(
    "made",
    [
        Pool(SCHEMA, 3),
        pool(),
        grown(),
        copy.deepcopy(grown()),
        pickle.loads(pickle.dumps(grown())),
    ],
    ids=["empty", "started", "grown", "copied", "pickled"],
)
def test_it_opens_the_very_arrays_of_its_pool(made):
    made.tables += 1.0
    opened = open_pool(made.handle)

    for name, array in zip(NAMES, opened, strict=True):
        own = getattr(made, name)
        assert (array.shape, array.dtype) == (own.shape, own.dtype)
        assert array.tobytes() == own.tobytes()
    opened[0][...] = 7.0
    assert (made.tables == 7.0).all()


def test_it_is_the_same_array_when_its_pool_has_others():
    made = pool()
    handle, tables = made.handle, made.tables
    made.start(1, CROSSED)

    assert made.handle is handle
    assert made.tables is not tables
    assert open_pool(handle)[0].shape == made.tables.shape


def test_an_entry_calls_what_it_was_made_of():
    made = pool()

    assert entry(open_pool, made.handle)(made.handle)[6].tolist() == made.n_terms.tolist()
    with pytest.raises(TypeError):
        entry(open_pool, made.handle)(1.0)


def test_an_array_with_gaps_in_memory_has_none():
    with pytest.raises(ValueError, match="contiguous"):
        handle_of(np.zeros((3, 2))[:, 0])
