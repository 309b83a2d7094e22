"""Theorems 1 and 2 by hand, and every kind of interval beside the one before it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from algorithms.abc_selection import bounds
from algorithms.benches.samples import Probe


def test_theorem_1_by_hand():
    # n = 2, delta = 16/e^2: ln(4 n^2 / delta) = 2; widths sqrt(2/200) and sqrt(2/800)
    delta = 16 / math.e**2
    upper = bounds.theorem1_upper(0.5, s=100, t=400, n=2, delta=delta)
    assert upper == pytest.approx(0.5 + 0.1 + 0.05)


def test_theorem_2_by_hand():
    # n = 2, delta = 8/e^2: ln(2 n^2 / delta) = 2
    assert bounds.theorem2_lower(0.5, s_te=100, n=2, delta=8 / math.e**2) == pytest.approx(0.4)


def test_serfling_by_hand():
    # ln(1/alpha) = 2: sqrt(1/100 + 1/400) = 0.1118, times sqrt(401/400)
    alpha = math.exp(-2)
    expected = 0.5 + math.sqrt(0.0125 * 401 / 400)
    assert bounds.serfling_upper(0.5, s=100, t=400, alpha=alpha) == pytest.approx(expected)
    # 101 of 200 rows: factor 1 - 100/200
    expected = 0.5 - math.sqrt(2 / 202 * 0.5)
    assert bounds.serfling_lower(0.5, s_te=101, t=200, alpha=alpha) == pytest.approx(expected)


def test_exact_upper_is_the_last_count_that_is_not_too_unlikely():
    correct, s, t, alpha = 7, 10, 20, 0.05
    upper = bounds.exact_upper(correct, s, t, alpha)
    most = correct + round(upper * t)
    assert hypergeom.cdf(correct, s + t, most, s) > alpha
    assert hypergeom.cdf(correct, s + t, most + 1, s) <= alpha


def test_exact_lower_is_the_first_count_that_is_not_too_unlikely():
    correct, s_te, t, alpha = 7, 10, 40, 0.05
    least = round(bounds.exact_lower(correct, s_te, t, alpha) * t)
    assert hypergeom.sf(correct - 1, t, least, s_te) > alpha
    assert hypergeom.sf(correct - 1, t, least - 1, s_te) <= alpha


def test_the_whole_test_set_leaves_the_lower_bound_no_doubt():
    assert bounds.exact_lower(31, 40, 40, 0.01) == 31 / 40


@pytest.mark.parametrize("correct", [0, 10])
def test_extreme_counts_stay_within_zero_and_one(correct):
    assert 0 <= bounds.exact_lower(correct, 10, 30, 0.05) <= correct / 10
    assert correct / 10 <= bounds.exact_upper(correct, 10, 30, 0.05) <= 1


@given(
    s=st.integers(1, 300),
    t=st.integers(2, 300),
    share=st.floats(0, 1),
    alpha=st.floats(1e-4, 0.3),
)
@settings(max_examples=200, deadline=None)
def test_each_kind_is_a_step_tighter(s, t, share, alpha):
    correct = int(share * s)
    exact = bounds.exact_upper(correct, s, t, alpha)
    assert exact <= bounds.serfling_upper(correct / s, s, t, alpha) + 1 / t
    s_te = min(s, t)
    correct = int(share * s_te)
    exact = bounds.exact_lower(correct, s_te, t, alpha)
    assert exact >= bounds.serfling_lower(correct / s_te, s_te, t, alpha) - 1e-12


@given(s=st.integers(1, 60), t=st.integers(1, 60), alpha=st.floats(1e-3, 0.5))
@settings(max_examples=50, deadline=None)
def test_the_exact_upper_bound_grows_with_the_training_count(s, t, alpha):
    """The step of its proof that lets H_S stand in for H*."""
    values = [bounds.exact_upper(correct, s, t, alpha) for correct in range(s + 1)]
    assert values == sorted(values)


def test_the_union_has_two_events_for_each_configuration_and_size():
    estimator = bounds.Estimator(kind="exact", n=20, m=10, t=1000, delta=0.5)
    assert estimator.alpha == pytest.approx(0.5 / 400)


@pytest.mark.parametrize("kind", bounds.KINDS)
def test_full_size_is_measured_not_estimated(kind):
    estimator = bounds.Estimator(kind=kind, n=3, m=4, t=50, delta=0.1)
    assert estimator(Probe(rows=200, test_rows=50, test_correct=40)) == (0.8, 0.8)


@pytest.mark.parametrize("kind", bounds.KINDS)
def test_bounds_are_clipped_to_accuracies(kind):
    estimator = bounds.Estimator(kind=kind, n=3, m=4, t=50, delta=0.1)
    lower, upper = estimator(Probe(rows=4, test_rows=8, train_correct=4, test_correct=0))
    assert (lower, upper) == (0.0, 1.0)


def test_a_single_exact_bound_is_valid_and_nearly_used_up():
    """One event alone fails almost as often as it may, so there is little left to gain."""
    s, t, alpha, repeats = 300, 200, 0.1, 4000
    rng = np.random.default_rng(5)
    in_sample = rng.hypergeometric(400, 100, s, size=repeats)
    uppers = np.array([bounds.exact_upper(int(x), s, t, alpha) for x in in_sample])
    rate = np.mean((400 - in_sample) / t > uppers + 1e-12)
    assert 0.06 < rate <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / repeats)
