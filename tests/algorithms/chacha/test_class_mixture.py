"""The mixture of three and more classes, and its logarithmic pool."""

import numpy as np
import pytest

from algorithms.chacha.class_mixture import N_EXPERTS, N_POOLED, ClassMixture
from algorithms.chacha.log_pool import LogPool
from algorithms.chacha.safe.bayes import regret_bound


def played(own, classes, n_classes=4):
    """What the mixture tells of races with these chances, on features that say nothing."""
    mixture = ClassMixture(1)
    mixture.grow(1, n_classes)
    for number in range(n_classes):
        mixture.count(number, 1.0)
    nothing = np.zeros(1, np.float32)
    return np.array(
        [
            mixture.learn(chances, nothing, number, 1.0)
            for chances, number in zip(own, classes.tolist(), strict=True)
        ]
    )


def log_loss(chances, classes):
    return -np.log(chances[np.arange(len(classes)), classes])


def drawn(n=3000, k=4, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(k, 0.5), size=n)
    return true, np.array([rng.choice(k, p=p) for p in true])


def test_races_that_are_right_are_followed():
    true, classes = drawn()
    told = played(true, classes)

    assert told.sum(axis=1) == pytest.approx(1)
    assert log_loss(told, classes).sum() < log_loss(np.maximum(true, 1e-3), classes).sum() + 40


@pytest.mark.parametrize("power", [0.4, 2.5], ids=["too unsure", "too sure"])
def test_races_that_are_not_calibrated_are_calibrated(power):
    true, classes = drawn()
    own = true**power
    own /= own.sum(axis=1, keepdims=True)
    told = played(own, classes)
    late = slice(1000, None)

    best, given = (log_loss(np.maximum(p, 1e-3), classes)[late].mean() for p in (true, own))
    assert log_loss(told, classes)[late].mean() < best + 0.25 * (given - best)


def test_no_expert_is_ever_better_by_more_than_the_bound():
    rng = np.random.default_rng(1)
    own = rng.dirichlet(np.full(4, 0.3), size=2000)
    classes = np.where(np.arange(2000) % 500 < 250, own.argmin(axis=1), own.argmax(axis=1))
    told = log_loss(played(own, classes), classes).cumsum()
    races = log_loss(np.maximum(own, 1e-3 / 4), classes).cumsum()
    frequency = np.log(4) * np.arange(1, 2001)

    assert (told - np.minimum(races, frequency)).max() <= regret_bound(N_EXPERTS) + 5


def test_a_pool_leaves_out_who_repeats_another():
    rng = np.random.default_rng(2)
    true, classes = drawn(2000)
    pool = LogPool(3)
    for chances, number in zip(true, classes.tolist(), strict=True):
        noise = rng.dirichlet(np.ones(4))
        pool.learn(np.log(np.maximum([chances, chances, noise], 1e-4)), number, 1.0)

    assert pool.weights[:2].sum() == pytest.approx(1, abs=0.15)
    assert abs(pool.weights[2]) < 0.15


def test_importance_0_moves_no_weight_of_a_pool():
    pool = LogPool(N_POOLED)
    pool.learn(np.log(np.full((N_POOLED, 2), 0.5) + 0.1 * np.eye(N_POOLED, 2)), 1, 0.0)

    assert pool.weights.tolist() == [1, 0, 0]
