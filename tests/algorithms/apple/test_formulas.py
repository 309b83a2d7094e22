"""The formulae of the paper and of VW's update, on numbers worked out by hand."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.apple.apple import epoch_ends, expansion_size
from leaseboard.algorithms.apple.learner import HashedLearner, PlanLearner
from leaseboard.algorithms.apple.rows import Examples

KERNELS = [PlanLearner, HashedLearner]


def test_epochs_end_where_the_paper_has_them():
    assert epoch_ends(12) == (2, 4, 6, 8, 10)
    assert epoch_ends(13) == (3, 5, 7, 9, 11)
    assert epoch_ends(100, 1) == ()
    assert epoch_ends(3) == (1, 2)


@pytest.mark.parametrize(
    ("s", "parents"),
    [
        (3.95, [1, 1, 1, 2, 3]),  # skin: the paper's three columns of small alpha are equal
        (16.58, [1, 2, 4, 8, 16]),  # letter: its first two are not
        (1.0, [1, 1, 1, 1, 1]),
    ],
)
def test_sizes_count_the_constant(s, parents):
    assert [expansion_size(s, alpha) for alpha in (0.125, 0.25, 0.5, 0.75, 1)] == parents


def test_the_first_step_by_hand():
    """One feature x = 2 and the constant, y = 1, rate 0.5: N = 2, 1; G = 4 x^2; z = 1 for both.

    ppu = 2 / sqrt(4) = 1, mu = sqrt(1 / 2), so the step is (1 - exp(-mu)) / mu * mu.
    """
    step = 1 - math.exp(-math.sqrt(0.5))
    for kernel in KERNELS:
        learner = kernel(np.ones(1), 0.5)
        learner.learn(Examples(np.float32([[2]]), np.float32([[1]])))
        assert learner.predict(np.float32([[2]]))[0] == pytest.approx(step)
