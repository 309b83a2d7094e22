"""The published confidence sequence against its integral, confseq's values, and its guarantee."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammainc

from benchmarks.bernstein import EmpiricalBernstein, best_rho, boundary, log_mixture
from leaseboard.algorithms.errors import UsageError


def integral(s, v, rho, c):
    """Return the mixture of Howard et al., Proposition 9, by numerical integration over λ."""
    shape = rho / c**2
    scale = shape * math.log(rho / c) - math.lgamma(shape) - math.log(gammainc(shape, shape))

    def density(rate):
        psi = (-math.log1p(-c * rate) - c * rate) / c**2
        prior = scale + (shape - 1) * math.log(1 / c - rate) - rho * (1 / c - rate) / c
        return math.exp(prior + rate * s - psi * v)

    value, _ = quad(density, 0, 1 / c, epsabs=0, epsrel=1e-11, limit=1000)
    return math.log(value)


@pytest.mark.parametrize(
    ("s", "v", "rho", "c"),
    [(10, 100, 16, 2), (-5, 30, 10, 2), (60, 400, 5, 2), (0.3, 0.7, 0.2, 0.4), (0, 0, 3, 1)],
)
def test_closed_form_is_the_integral(s, v, rho, c):
    assert log_mixture(s, v, rho, c) == pytest.approx(integral(s, v, rho, c), abs=1e-9)


def test_values_of_confseq():
    """From the tests of confseq's C++ part (0.0.11), which has them of its reference in R."""
    rho = best_rho(100, 0.05)

    assert log_mixture(10, 100, rho, 2) == pytest.approx(-0.2490165, abs=1e-7)
    assert boundary(100, 0.05, rho, 2) == pytest.approx(33.02017, abs=1e-5)


def test_the_sequence_is_the_closed_form_of_the_paper():
    """Theorem 2, written again: sums in a loop, and the boundary from the integral."""
    differences = np.random.default_rng(3).uniform(-1, 1, 40) * 0.6 + 0.2
    rho, c, alpha = 4.0, 2.0, 0.05
    total = variance = 0.0
    for row, d in enumerate(differences):
        variance += (d - (total / row if row else 0.0)) ** 2
        total += d
    low, high = 0.0, 1000.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        if integral(middle, variance, rho, c) < math.log(2 / alpha):
            low = middle
        else:
            high = middle
    found = EmpiricalBernstein(bound=1.0, rho=rho).update_many(differences).interval(alpha)

    assert found == pytest.approx(((total - low) / 40, (total + low) / 40), abs=1e-8)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_one_by_one_is_all_at_once(differences, cut):
    fresh = EmpiricalBernstein(bound=1.0, rho=2.0)
    state = fresh
    for d in differences:
        state = state.update(d)
    lower, upper = fresh.intervals(differences, 0.1)
    halves = fresh.update_many(differences[:cut]).update_many(differences[cut:])

    assert state == fresh.update_many(differences) == halves
    assert state.interval(0.1) == (lower[-1], upper[-1])
    assert state.log_e() == fresh.log_e(differences)[-1]


def test_before_any_row_the_interval_is_all_there_can_be():
    assert EmpiricalBernstein(bound=0.5, rho=1.0).interval(0.05) == (-0.5, 0.5)


def test_a_mean_that_drifts_stays_inside():
    missed = 0
    drift = 0.5 * np.sin(np.arange(200) / 20)
    averages = np.cumsum(drift) / np.arange(1, 201)
    for seed in range(100):
        coins = np.random.default_rng(seed).random(200) < (1 + drift) / 2
        state = EmpiricalBernstein(bound=1.0, rho=best_rho(100, 0.05))
        lower, upper = state.intervals(2.0 * coins - 1, 0.1)
        missed += bool(((averages < lower[1:]) | (averages > upper[1:])).any())

    assert missed <= 10


@pytest.mark.parametrize("wrong", [1.5, math.nan, -math.inf])
def test_a_difference_beyond_the_bound_is_refused(wrong):
    with pytest.raises(UsageError, match=r"give numbers within ±1.0"):
        EmpiricalBernstein(bound=1.0, rho=1.0).update(wrong)
