"""The paired tests keep their promise on differences that are symmetric around zero."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.windows import better, critical_value, radius, worse


def test_critical_value_by_hand():
    z = critical_value(challengers=1, looks=np.array([1]), delta=0.1)

    assert z == pytest.approx(np.sqrt(2 * np.log(20)))


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


def test_models_that_agree_are_neither_better_nor_worse():
    nothing, z = np.zeros(1), np.array([3.0])

    assert not better(nothing, nothing, z).any()
    assert not worse(nothing, nothing, z).any()


def test_the_radius_is_where_the_tests_turn():
    n, squares, z = np.array([25]), np.array([9.0]), np.array([2.0])
    edge = radius(squares, n, z) * n

    assert edge == pytest.approx([6.0])
    assert better(edge + 1e-9, squares, z).all()
    assert not better(edge - 1e-9, squares, z).any()
