"""Bounds of a champion's own loss, and of challengers' differences from it."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.windows import CommonWindows, critical_value

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


def test_a_challengers_radius_is_that_of_its_difference(windows):
    ((slot, loss, lower, upper),) = windows.bounds(np.array([1]), 4, 1, champion=0)
    z = critical_value(1, np.array([1]), 0.1)[0]

    assert (slot, loss) == (1, 3.0)
    assert upper - loss == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert loss - lower == pytest.approx(upper - loss)


def test_a_champions_radius_is_that_of_its_own_loss_around_its_mean(windows):
    (_, loss, lower, upper), _ = windows.bounds(np.array([0, 1]), 4, 1, champion=0)
    z = critical_value(1, np.array([1]), 0.1)[0]

    assert loss == 2.0
    assert upper - loss == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert 0.0 <= lower < loss


def test_a_loss_that_never_varies_is_certain(windows):
    windows.sums[0] = 0.0, 0.0, 4 * 2.0, 4 * 4.0
    ((_, loss, lower, upper),) = windows.bounds(np.array([0]), 4, 1, champion=0)

    assert lower == loss == upper == 2.0
