"""Paired tests keep their guarantee."""

import numpy as np

from leaseboard.algorithms.online_automl.safe.windows import critical_value, judge


def proved(advantages, squares, z):
    """Return the challenger, from 1 on, that is proved best against champion 0; or -1."""
    n = 1 + len(advantages)
    sums, delta = np.zeros((n, 4)), 2.0 * np.exp(-z * z / 2)
    sums[1:, 0], sums[1:, 1] = advantages, squares
    return judge(sums, [0] * n, [9] * n, np.arange(n), 0, 4, 1, 4, delta, 0)[0]


def test_few_equal_challengers_are_taken_for_better():
    """200 champions' times of 10 challengers and 30 looks, heavy tails: at most delta of them."""
    rng = np.random.default_rng(0)
    false_proofs, rounds, challengers = 0, 30, 10
    looks = np.arange(1, rounds + 1)
    z = [critical_value(challengers, look, 0.1) for look in looks]
    for _ in range(200):
        differences = rng.standard_t(2, (challengers, rounds * 64))
        at_looks = slice(63, None, 64)
        sums = differences.cumsum(axis=1)[:, at_looks]
        squares = (differences**2).cumsum(axis=1)[:, at_looks]
        false_proofs += any(
            proved(sums[:, look], squares[:, look], z[look]) > 0 for look in range(rounds)
        )

    assert false_proofs <= 20


def test_the_tests_change_their_answer_at_their_edge():
    assert proved([6.0 + 1e-9], [9.0], 2.0) == 1
    assert proved([6.0 - 1e-9], [9.0], 2.0) == -1
    assert proved([6.1, 6.2, 6.2], [9.0] * 3, 2.0) == 2  # the first of the best
