"""The checks that every algorithm passes, and what the policy promises."""

import numpy as np
import pytest
from leaseboard_zeta.policy import Zeta

from leaseboard.algorithms.checks import checks


@pytest.mark.parametrize("name", checks())
def test_check(name):
    checks()[name](Zeta())


def test_the_cheapest_near_the_best_is_trained():
    errors, costs = np.array([1.0, 1.02, 5.0, 1.04]), np.array([8, 4, 1, 2])

    chosen = Zeta(train=2, zeta=0.05, epsilon=0).choose(errors, costs, np.random.default_rng(0))

    assert chosen.tolist() == [3, 1]  # both are near; the cheaper of all is not
