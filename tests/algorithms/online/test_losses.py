"""What the kernel's update takes of a loss, by hand and by what it must be for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import lambertw

from leaseboard.algorithms.online.kernel import (
    LOGISTIC,
    SQUARED,
    gradient_squared,
    invariant_update,
    lambert_less,
)

F = np.float32


@pytest.mark.parametrize(
    ("loss", "prediction", "label", "expected"),
    [
        (SQUARED, 2, 0.5, 9),
        (SQUARED, 2, 2, 0),
        (LOGISTIC, 0, 1, 0.25),
        (LOGISTIC, 0, -1, 0.25),
        (LOGISTIC, np.log(3), -1, 0.5625),  # a chance of 3/4 for what did not come
        (LOGISTIC, np.log(3), 1, 0.0625),
    ],
)
def test_squares_of_derivatives(loss, prediction, label, expected):
    assert gradient_squared(loss, F(prediction), F(label)) == pytest.approx(expected)


@pytest.mark.parametrize(("prediction", "learns"), [(16, True), (17, False), (50, False)])
def test_nothing_is_learned_where_the_logistic_loss_rounds_to_0(prediction, learns):
    for label in (1, -1):
        assert bool(gradient_squared(LOGISTIC, F(label * prediction), F(label))) is learns


def test_updates_by_hand():
    # Half of the error is left where exp(-2 h x'x) is 1/2.
    assert invariant_update(SQUARED, F(1), F(5), F(np.log(2) / 2), F(1)) == pytest.approx(2)
    assert invariant_update(SQUARED, F(1), F(5), F(0.25), F(1e-9)) == 2
    assert invariant_update(LOGISTIC, F(0), F(1), F(0.5), F(1e-9)) == 0.25
    assert invariant_update(LOGISTIC, F(0), F(-1), F(0.5), F(1e-9)) == -0.25
    # p + exp(p) grows by h x'x: by e from 1, the value at 0, is where p is 1.
    assert invariant_update(LOGISTIC, F(0), F(1), F(np.e), F(1)) == pytest.approx(1, abs=1e-4)


def test_lambert_is_as_near_as_vowpal_wabbit_says():
    for x in np.linspace(-30, 30, 241):
        exact = lambertw(np.exp(x)).real - x
        assert lambert_less(F(x)) == pytest.approx(exact, abs=9e-5)
