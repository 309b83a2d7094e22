"""Which of very many features join, and that those that say nothing do not."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.front import NARROW, RIDGE_ON_PAST, Front, companions_of
from leaseboard.algorithms.chacha.safe.selected import EMPTY, EVERY, remembered

D = 300


def learned(x, y, front=None):
    front = front or Front(x.shape[1])
    found = companions_of(front, x.astype(np.float32), y.astype(np.float32))
    return front, found[:, RIDGE_ON_PAST]


def held(front):
    return sorted(front.known.slots[front.known.slots != EMPTY].tolist())


NOISE = {
    "normal": lambda rng, n: rng.normal(size=(n, D)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, D)),
    "one-hot": lambda rng, n: np.eye(D)[rng.integers(0, D, n)],
    "sparse": lambda rng, n: rng.poisson(0.02, size=(n, D)),
    "walks": lambda rng, n: np.sign(rng.normal(size=(n, D))),
}


@pytest.mark.parametrize("labels", ["normal", "heavy tails"])
@pytest.mark.parametrize("kind", NOISE)
def test_of_noise_few_features_join(kind, labels):
    joined = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = NOISE[kind](rng, 1000)
        y = rng.normal(size=1000) if labels == "normal" else rng.standard_t(1.5, size=1000)
        joined += len(held(learned(x, y)[0]))

    assert joined <= 6  # of 900, at ten times


def test_weak_features_join_once_the_strong_ones_have():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1000, D))
    weights = np.zeros(D)
    weights[[3, 50, 299]] = 5, -3, 0.6
    front, found = learned(x, y := x @ weights + rng.normal(size=1000))

    assert {3, 50, 299} <= {*held(front)}
    assert ((found - y)[500:] ** 2).mean() < 1.3


def test_of_copies_one_joins():
    rng = np.random.default_rng(2)
    x = np.tile(rng.normal(size=(800, 30)), (1, 10))
    front, _ = learned(x, 2 * x[:, 0] - x[:, 7] + 0.3 * rng.normal(size=800))

    assert len({column % 30 for column in held(front)} & {0, 7}) == 2
    assert len(held(front)) <= 4


def test_a_feature_that_matters_takes_the_slot_of_one_that_does_not():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1500, NARROW))
    front = Front(NARROW)
    learned(x[:300], x[:300, 0] + 0.3 * rng.normal(size=300), front)
    front.grow(NARROW + 30)
    x = np.c_[x, rng.normal(size=(1500, 30))]
    front, found = learned(x[300:], y := x[300:, 0] + 2 * x[300:, NARROW + 5], front)

    assert {0, NARROW + 5} <= {*held(front)}
    assert len(held(front)) == NARROW
    assert ((found - y)[-500:] ** 2).mean() < 0.2 * y.var()


@pytest.mark.parametrize("classes", [False, True])
def test_parts_and_the_whole_select_the_same(classes):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3 * EVERY, D)).astype(np.float32)
    y = x[:, 1] - x[:, 2]
    y = np.where(y > 0, 1, -1) if classes else y
    whole, parts = Front(D, classes), Front(D, classes)
    _, found = learned(x, y, whole)
    told = []
    for start, stop in ((0, 1), (1, 99), (99, 101), (101, 300)):
        told += learned(x[start:stop], y[start:stop], parts)[1].tolist()
        restored = Front(D, classes)
        restored.fill(parts.state())
        parts = restored

    assert told == found.tolist()
    assert held(parts) == held(whole) == [1, 2]


def test_memory_is_bounded_and_keeps_the_last_examples_as_it_shrinks():
    sizes = [remembered(d) * (d + 6) * 4 for d in (65, 2_000, 10_000, 1_000_000)]
    assert max(sizes) < 17e6
    rng = np.random.default_rng(5)
    front = Front(3000)
    x = rng.normal(size=(1500, 3000)).astype(np.float32)
    learned(x, np.arange(1500), front)
    before = len(front.known.memory)
    front.grow(4000)
    n = len(front.known.memory)
    times = front.known.memory[np.arange(1500 - n, 1500) % n, -2]

    assert n < before < 1500
    assert times.tolist() == list(range(1500 - n, 1500))
    assert (front.known.memory[:, -1] == 1).all()


@pytest.mark.parametrize("slots", [[D], [-2], [5, 5]])
def test_slots_that_no_front_has_are_refused(slots):
    state = Front(D).state()
    state["slots"][: len(slots)] = slots

    with pytest.raises(ValueError, match="selected features"):
        Front(D).fill(state)
