from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import lomax

from leaseboard.algorithms.policies.bandits import (
    EpsilonGreedy,
    RandomArm,
    Softmax,
    UpperConfidenceBound,
    expected_improvement,
    max_ucb_index,
    softmax,
    ucb_index,
)
from tests.simulation import SEVEN_GAUSSIANS, simulate


def test_ucb_index():
    index = ucb_index(np.array([0.5, 0.5]), np.array([1, 4]), 10)

    assert index == pytest.approx([0.5 + np.sqrt(2 * np.log(10)), 0.5 + np.sqrt(np.log(10) / 2)])


def test_max_ucb_index():
    assert max_ucb_index(np.array(0.9), np.array(2), 20, 0.5) == pytest.approx(
        0.9 + (0.5 * np.log(20) / 2) ** 2
    )


def test_expected_improvement_is_the_mean_of_the_excess_beyond_the_gap():
    alpha, beta = 3.5, 0.2
    for gap in (0.0, 0.05, 0.4):
        beyond = lomax(alpha, scale=beta).expect(lambda x, g=gap: x - g, lb=gap)
        assert expected_improvement(gap, alpha, beta) == pytest.approx(beyond, rel=1e-6)


def test_softmax_probabilities():
    p = softmax(np.array([0.0, 0.1]), 0.1)

    assert p == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)])
    assert softmax(np.array([0.0, 0.05]), 0.1)[1] == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize(
    ("policy", "best", "share"),
    [
        # Both readings of the baselines' rows in ER-UCB's Table 1: as the text has it, and what
        # comes near the printed 0.94/0.01, 0.98/0.31 and 1.01/0.18.
        (UpperConfidenceBound(), 1.02, 0.12),
        (UpperConfidenceBound(gamma=20), 0.957, 0.011),
        (EpsilonGreedy(), 0.967, 0.016),
        (EpsilonGreedy(value="best"), 1.03, 0.51),
        (Softmax(), 1.018, 0.113),
        (RandomArm(), 1.024, 0.143),
    ],
    ids=["c-ucb", "c-ucb x20", "greedy", "greedy on the best", "softmax", "random"],
)
def test_baselines_of_table_1(policy, best, share):
    table = simulate(policy, SEVEN_GAUSSIANS, budget=1000, runs=40, seed=1)

    assert table.best.mean() == pytest.approx(best, abs=0.01)
    assert table.exploitation[:, 0].mean() == pytest.approx(share, abs=0.06)
