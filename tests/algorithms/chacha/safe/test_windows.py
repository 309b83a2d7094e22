"""Paired tests keep their promise; bounds of a champion and of its challengers."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.windows import CommonWindows, better, critical_value, radius

CHAMPION = np.array([1.0, 3.0, 1.0, 3.0])
CHALLENGER = np.array([2.0, 4.0, 2.0, 4.0])


@pytest.fixture
def windows():
    """Two slots that have seen four examples; the champion is in slot 0."""
    windows = CommonWindows(np.zeros((2, 4)), round_length=4, delta=0.1)
    for slot, losses in enumerate((CHAMPION, CHALLENGER)):
        gains = CHAMPION - losses
        windows.sums[slot] = gains.sum(), (gains**2).sum(), losses.sum(), (losses**2).sum()
    return windows


def bounds(windows, *slots):
    """Events after four examples, of configurations 7 and 8, live since the first."""
    return [*windows.bounds(np.array(slots), 4, 1, 0, np.array([7, 8]), np.array([1, 1]))]


def test_a_challengers_radius_is_that_of_its_difference(windows):
    (told,) = bounds(windows, 1)
    z = critical_value(1, np.array([1]), 0.1)[0]

    assert (told.configuration, told.value, told.units) == (8, 3.0, 3)
    assert told.upper - told.value == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert told.value - told.lower == pytest.approx(told.upper - told.value)


def test_a_champions_radius_is_that_of_its_own_loss_around_its_mean(windows):
    told, _ = bounds(windows, 0, 1)
    z = critical_value(1, np.array([1]), 0.1)[0]

    assert told.value == 2.0
    assert told.upper - told.value == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert 0.0 <= told.lower < told.value


def test_a_loss_that_never_varies_is_certain(windows):
    windows.sums[0] = 0.0, 0.0, 4 * 2.0, 4 * 4.0
    (told,) = bounds(windows, 0)

    assert told.lower == told.value == told.upper == 2.0


def test_few_equal_challengers_are_taken_for_better():
    """200 champions' times of 10 challengers and 30 looks, heavy tails: at most delta of them."""
    rng = np.random.default_rng(0)
    false_proofs, rounds, challengers = 0, 30, 10
    looks = np.arange(1, rounds + 1)
    z = critical_value(challengers, looks, delta=0.1)
    for _ in range(200):
        differences = rng.standard_t(2, (challengers, rounds * 64))
        at_looks = slice(63, None, 64)
        sums = differences.cumsum(axis=1)[:, at_looks]
        squares = (differences**2).cumsum(axis=1)[:, at_looks]
        false_proofs += better(sums, squares, z).any()

    assert false_proofs <= 20


def test_a_small_steady_advantage_is_proved():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.2, 1, 2000)
    z = critical_value(challengers=50, looks=np.array([32]), delta=0.1)

    assert better(np.array([differences.sum()]), np.array([(differences**2).sum()]), z).all()


def test_the_radius_is_where_the_tests_turn():
    n, squares, z = np.array([25]), np.array([9.0]), np.array([2.0])
    edge = radius(squares, n, z) * n

    assert edge == pytest.approx([6.0])
    assert better(edge + 1e-9, squares, z).all()
    assert not better(edge - 1e-9, squares, z).any()
