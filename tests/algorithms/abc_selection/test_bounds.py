"""Theorems 1 and 2 by hand, and every event of the tighter intervals."""

import math
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from leaseboard.algorithms.abc_selection import bounds
from leaseboard.algorithms.abc_selection.bounds import lowered, raised
from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.environments.samples import Probe


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


def probed(rows, tested, right, trained=None):
    """Return a probe with so many right ones of its test rows and of its training rows."""
    return Probe(rows=rows, test_rows=tested, train_correct=trained, test_correct=right)


def last(correct, rows, drawn, share):
    """Return the last count of right ones for which so few in the sample are not too unlikely."""
    counts = range(correct, correct + rows - drawn + 1)
    unlikely = bisect_left(
        counts, 1, key=lambda k: hypergeom.cdf(correct, rows, k, drawn) <= share
    )
    return counts[unlikely - 1]


@pytest.mark.parametrize(("m", "idle"), [(10, 2), (1, 0), (2, 2)])
@pytest.mark.parametrize("s", [1000, 300_000])
def test_every_event_has_its_share_of_delta(s, m, idle):
    rows, t, n, delta, tested, wrong = 600_000, 150_000, 20, 0.1, 9000, 1800
    sample, split, each = 0.7 * delta / max(m - idle, 1), 0.1 * delta / n, 0.2 * delta / (n * m)

    def uppers(correct):
        """Return the bound of two events and the bound of one."""
        trained = last(correct, rows, s, sample) if s < rows else correct
        two = last(trained, rows + t, rows, split) - trained
        return two / t, (last(correct, s + t, s, sample / n) - correct) / t

    is_two = np.subtract(*uppers(s // 2)) <= 0
    estimator = bounds.Estimator("best", n, m, rows, t, delta, idle)
    low, high = estimator(probed(s, tested, tested - wrong, s * 4 // 5))
    assert is_two == (s == 1000)
    assert low * t == pytest.approx(t - last(wrong, t, tested, each))
    assert high == pytest.approx(uppers(s * 4 // 5)[1 - is_two])


def test_the_intervals_of_the_paper_by_hand():
    log = math.log(4 * 3**2 / 0.1)
    upper = 0.8 + math.sqrt(log / (2 * S)) + math.sqrt(log / (2 * T))
    lower = 0.8 - math.sqrt(math.log(2 * 3**2 / 0.1) / (2 * TESTED_ON))
    estimator = bounds.Estimator("paper", n=3, m=5, train_rows=N, t=T, delta=0.1)
    for rate in (0.8, 0.001, 0.999):  # within 0 and 1
        found = estimator(probed(S, TESTED_ON, int(TESTED_ON * rate), int(S * rate)))
        moved = int(S * rate) / S - 0.8, int(TESTED_ON * rate) / TESTED_ON - 0.8
        expected = max(0, lower + moved[1]), min(1, upper + moved[0])
        assert found == pytest.approx(expected, abs=1e-12)
    assert estimator(probed(N, T, T // 2)) == (0.5, 0.5)


def test_a_rise_a_growth_and_a_fall_go_on_for_all_doublings_by_hand():
    """Of two doublings, then one, of 0.05 and 0.02 each; 1,000 rows are log2(1.25) more."""
    up = [probed(100, 9000, 3600, 50), probed(400, 9000, 4500, 240), probed(800, 9000, 4680, 496)]
    down = [
        probed(100, 9000, 4500, 50),
        probed(400, 9000, 3600, 200),
        probed(800, 9000, 3600, 400),
    ]
    far = 0.05 * math.log2(1.25)

    assert raised(0.7, up, 1000) == pytest.approx(0.7 + far)
    assert raised(0.5, up, 1000) == pytest.approx(0.52 + far)
    assert lowered(0.4, down, 1000) == pytest.approx(0.4 - far)
    assert bounds.Estimator("best", 2, 1, 10, 10, 0.1) == bounds.Estimator(
        "best", 2, 1, 10, 10, 0.1, idle=0
    )


@pytest.mark.parametrize(("right", "before"), [(50, 100), (180, 200), (20, 400)])
def test_a_rise_is_beyond_chance_from_two_deviations_of_two_samples(right, before):
    p = right / before
    least = 2 * math.sqrt(2 * p * (1 - p) / before)
    small = probed(before, 9000, 4500, right)
    for more in range(before - right):
        large = Probe(rows=2 * before, test_rows=9000, train_correct=0, half_correct=right + more)
        assert bounds.beyond_chance(small, large) == (more / before > least)


class Given:
    """Estimator that gives an interval."""

    def __init__(self, kind, *interval):
        self.kind, self.train_rows, self.t, self.interval = kind, 900, 100, interval

    def __call__(self, _):
        return self.interval


@pytest.mark.parametrize(
    ("interval", "then"),
    [
        ((0.3, 0.9), (0.4, 0.8)),
        ((0.5, 0.7), (0.5, 0.7)),
        ((0.8, 0.9), (0.8, 0.8)),
        ((0.85, 0.9), (0.85, 0.9)),
        ((0.1, 0.3), (0.1, 0.3)),
    ],
)
def test_an_interval_is_intersected_with_the_one_before_unless_they_cross(interval, then):
    chosen = Prospect(index=0, lower=0.2, upper=0.95, lower_old=0.4, upper_old=0.8)
    probe = probed(100, 1000, 500, 60)
    bounds.estimate(chosen, probe, Given("paper", *interval))
    assert (chosen.lower, chosen.upper) == then
    assert (chosen.lower_before, chosen.upper_before) == (0.2, 0.95)
    assert (chosen.above, chosen.below) == (interval[1] - 0.6, 0.5 - interval[0])
    assert chosen.curve == [probe]

    bounds.estimate(chosen, probed(800, 1000, 500), Given("paper", 0.5, 0.5))
    assert (chosen.above, chosen.below) == (0, 0)


@pytest.mark.parametrize("tested", [(700, 710, 720), (700, 500, 300), (300, 500, 700)])
def test_what_was_concluded_from_a_refuted_assumption_is_forgotten(tested):
    """Fitness says that training accuracy falls, and exploitiveness that test accuracy grows."""
    curve = [probed(100 * 2**i, 1000, right, 90 * 2**i) for i, right in enumerate(tested)]
    chosen = Prospect(index=0, lower=0.6, upper=0.92, curve=curve[:2])
    bounds.estimate(chosen, curve[2], Given("best", 0.55, 0.95))
    lower, upper = lowered(0.55, curve, 900), raised(0.95, curve, 1000)
    assert chosen.lower == (lower if lower < 0.55 else 0.6)
    assert chosen.upper == (upper if upper > 0.95 else 0.92)
    assert (lower < 0.55, upper > 0.95) == (tested[2] == 300, tested[0] == 300)

    bounds.estimate(chosen, probed(800, 1000, 700), Given("best", 0.7, 0.7))
    assert (chosen.lower, chosen.upper) == (0.7, 0.7)
