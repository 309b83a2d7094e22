"""Theorems 1 and 2 by hand, and every event of the tighter intervals."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from leaseboard.algorithms.abc_selection import bounds
from leaseboard.algorithms.environments.selecting import Probe


@given(s=st.integers(1, 60), t=st.integers(1, 60), alpha=st.floats(1e-3, 0.5))
@settings(max_examples=20, deadline=None)
def test_the_exact_upper_bound_grows_with_the_training_count(s, t, alpha):
    """The step of its proof that lets H_S replace H*."""
    values = [bounds.exact_upper(correct, s, t, alpha) for correct in range(s + 1)]
    assert values == sorted(values)


def best(n=20, m=10, train_rows=2_400_000, delta=0.5):
    t = train_rows // 4
    return bounds.Estimator(kind="best", n=n, m=m, train_rows=train_rows, t=t, delta=delta)


@given(s=st.integers(2, 400), n=st.integers(1, 30), share=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_the_best_bounds_grow_with_their_counts(s, n, share):
    """As H_S may replace H* only if it can only raise the bound."""
    estimator = best(n=n, m=4, train_rows=2000, delta=0.05)
    correct = int(share * (s - 1))
    two = [Probe(rows=s, test_rows=s, train_correct=c, test_correct=c) for c in (correct, s)]
    low, high = (estimator(probe) for probe in two)
    assert low[0] <= high[0]
    assert low[1] <= high[1]


def winners(n, s, train_rows, t, repeats, correct=0.5, seed=3):
    """Return counts on S_tr and D_te of the luckiest of n models that are right on `correct` of D.

    Adversarial: who is best is nothing but the luck of its split, which runs against the bound.
    """
    rng = np.random.default_rng(seed)
    right = round(correct * (train_rows + t))
    tested = rng.hypergeometric(right, train_rows + t - right, t, size=(repeats, n)).max(axis=1)
    trained = right - tested
    return rng.hypergeometric(trained, train_rows - trained, s), tested


def missed(estimator, s, repeats=2000, upper=None):
    """Return the share of runs whose winner is above its upper bound at the size s."""
    sampled, tested = winners(estimator.n, s, estimator.train_rows, estimator.t, repeats)
    uppers = {
        x: upper(x) if upper else estimator(Probe(rows=s, test_rows=s, train_correct=x))[1]
        for x in set(sampled.tolist())
    }
    high = np.array([uppers[x] for x in sampled.tolist()])
    return np.mean(tested / estimator.t > high + 1e-12)


@pytest.mark.parametrize("s", [100, 500, 2000])
@pytest.mark.parametrize("n", [2, 50])
def test_the_luckiest_of_many_splits_is_not_missed_more_often_than_its_events_may(n, s):
    estimator = best(n=n, m=1, train_rows=4000)
    allowed = (bounds.SHARES[0] + bounds.SHARES[1]) * estimator.delta
    assert missed(estimator, s) <= allowed + 2 * math.sqrt(allowed / 2000)


def test_without_its_event_of_the_split_the_luckiest_would_be_missed_too_often():
    estimator = best(n=50, m=1, train_rows=4000)
    s, share = 2000, bounds.SHARES[1] * estimator.delta
    naive = missed(estimator, s, upper=lambda x: bounds.exact_upper(x, s, estimator.t, share))
    assert naive > 0.6


N, T, S, TESTED_ON = 60_000, 15_000, 4000, 8000


def few(kind):
    return bounds.Estimator(kind=kind, n=3, m=5, train_rows=N, t=T, delta=0.1, idle=2)


def interval(kind, rows=S, train_correct=3200, test_correct=6400):
    return few(kind)(
        Probe(rows=rows, test_rows=TESTED_ON, train_correct=train_correct,
              test_correct=test_correct)
    )  # fmt: skip


def test_the_exact_upper_bound_is_the_last_truth_whose_event_is_not_too_unlikely():
    share = 0.1 / (2 * 3 * 5)
    most = 3200 + round(bounds.exact_upper(3200, S, T, share) * T)
    assert hypergeom.cdf(3200, S + T, most, S) > share
    assert hypergeom.cdf(3200, S + T, most + 1, S) <= share


def test_the_lower_bound_is_the_first_truth_whose_event_is_not_too_unlikely():
    share = bounds.SHARES[2] * 0.1 / (3 * 5)
    least = round(interval("best")[0] * T)
    assert hypergeom.sf(6399, T, least, TESTED_ON) > share
    assert hypergeom.sf(6399, T, least - 1, TESTED_ON) <= share


def last(correct, rows, drawn, share):
    """Return the last count of right ones for which so few in the sample are not too unlikely."""
    counts = range(correct, correct + rows - drawn + 1)
    unlikely = bisect_left(
        counts, 1, key=lambda k: hypergeom.cdf(correct, rows, k, drawn) <= share
    )
    return counts[unlikely - 1]


def test_the_best_ones_upper_bound_gives_the_order_and_the_split_their_shares():
    rows, tested = 600_000, 150_000
    sample, split = 0.7 * 0.1 / (10 - 2), 0.1 * 0.1 / 20
    assert bounds.two_steps(1000, rows, tested, 20, sample, split)
    trained = last(800, rows, 1000, sample)
    everywhere = last(trained, rows + tested, rows, split)
    of = replace(best(n=20, m=10, train_rows=rows, delta=0.1), idle=2)
    found = of(Probe(rows=1000, test_rows=2000, train_correct=800, test_correct=1600))
    assert round(found[1] * tested) == everywhere - trained


def test_the_intervals_of_the_paper_by_hand():
    log = math.log(4 * 3**2 / 0.1)
    upper = 0.8 + math.sqrt(log / (2 * S)) + math.sqrt(log / (2 * T))
    lower = 0.8 - math.sqrt(math.log(2 * 3**2 / 0.1) / (2 * TESTED_ON))
    assert interval("paper") == pytest.approx((lower, upper), abs=1e-12)
