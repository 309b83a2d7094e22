"""Sequential tests by hand, by enumeration of all cases, and against opponents that cheat."""

import json
import math
from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.bet_steps import log_entry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential_test import SequentialTest

LOSSES = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=60).map(
    np.array
)


def compared(differences, **settings):
    """Return the test after rows of these differences, the challenger at a loss of 0."""
    return SequentialTest(**settings).update_many(differences, np.zeros(len(differences)))


@pytest.mark.parametrize("sign", [1, -1], ids=["challenger", "champion"])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_it_decides_at_e_of_1_over_alpha_and_not_a_thousandth_before(seed, restarts, sign):
    gains = sign * (np.random.default_rng(seed).standard_normal(40).clip(-3, 3) + 1)
    test = compared(gains, bound=4.0, restarts=restarts)
    side = "challenger" if sign > 0 else "champion"
    alpha = 1 / test.e_value(side)

    assert alpha < 0.2
    assert test.decision(alpha * 1.001) == side
    assert test.decision(alpha / 1.001) == "undecided"


@given(LOSSES, st.integers(0, 60), st.booleans())
@settings(deadline=None)
def test_one_by_one_all_at_once_and_resumed_are_the_same(losses, cut, restarts):
    one = fresh = SequentialTest(restarts=restarts)
    for row in losses:
        one = one.update(*row)
    many, path = fresh.trace(*losses.T)
    stored = json.dumps(asdict(fresh.update_many(*losses[:cut].T)), allow_nan=False)
    resumed = SequentialTest(**json.loads(stored)).update_many(*losses[cut:].T)

    assert one == many == resumed
    assert many.rows == len(losses)
    if many.counted:
        assert path[-1].tolist() == [many.log_e("challenger"), many.log_e("champion")]


@pytest.mark.parametrize("alpha", [-0.1, 0.0, 1.0, 1.5, math.nan])
def test_a_probability_is_between_0_and_1(alpha):
    with pytest.raises(UsageError, match=f"alpha={alpha}"):
        SequentialTest().decision(alpha)


def test_the_first_clip_is_twice_the_median_of_eleven_differences():
    sizes = np.random.default_rng(3).permutation([1.0, 2, 3, 4, 5, 70, 80, 90, 100, 200, 300])
    before = compared([0.0, *sizes[:10]])
    assert (before.first_clip, len(before.waited)) == (0.0, 10)
    assert before.update(sizes[10], 0.0).first_clip == 140.0


@pytest.mark.parametrize("drawn", [(-1.0, 1.0), (-2.0, 1.0, 1.0), (-1.0, -1.0, 2.0)])
def test_over_all_paths_of_a_fair_game_e_is_one_and_rarely_ever_large(drawn):
    n = 11 if len(drawn) == 2 else 7
    ends = [compared(path, bound=2.0) for path in product(drawn, repeat=n)]
    for side in ("challenger", "champion"):
        assert np.mean([each.e_value(side) for each in ends]) == pytest.approx(1, abs=1e-12)
        for alpha in (0.8, 0.5, 0.3):
            assert np.mean([each.p_value(side) <= alpha for each in ends]) <= alpha


def test_capital_that_comes_later_is_half_of_all_and_none_is_made_of_a_fair_game():
    ends = [compared(path, bound=1.0, restarts=True) for path in product((-1, 1), repeat=10)]
    came = 0.5 + sum(math.exp(log_entry(row)) for row in range(10))

    assert np.mean([each.e_value("champion") for each in ends]) == pytest.approx(came, abs=1e-12)
    assert came == pytest.approx(1 - math.log(2) / 2 / math.log(12))
    assert np.mean([each.p_value("challenger") <= 0.5 for each in ends]) <= 0.5


def test_a_champion_that_becomes_worse_is_found_by_a_sequential_test_that_restarts():
    noise = np.random.default_rng(4).standard_normal(6000)
    reign = noise + np.repeat([-0.3, 0.3], [5000, 1000])  # the one before is the challenger
    long, fresh = (compared(reign, restarts=each) for each in (False, True))

    assert long.decision(0.05) == "champion"
    assert long.mean < 0
    assert fresh.decision(0.05) == "challenger"
    assert compared(reign[:5000], restarts=True).p_value("challenger") > 0.05
    assert 0 < compared(reign[:5000]).p_value("champion") < 1e-6


def heavy(rng, n):
    return rng.standard_cauchy(n)


def growing(rng, n):
    return rng.standard_normal(n) * np.exp(np.arange(n) / 30)


def shrinking(rng, n):
    return rng.standard_normal(n) * np.exp(-np.arange(n) / 30)


def squared(rng, n):
    return rng.standard_t(3, n) ** 2 - rng.standard_t(3, n) ** 2


def coins(rng, n):
    return rng.integers(0, 2, n) - rng.integers(0, 2, n) * 1.0


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("make", [heavy, growing, shrinking, squared, coins])
def test_alike_predictors_are_rarely_distinguished_though_one_looks_always(make, restarts):
    drawn = [make(np.random.default_rng(seed), 1000) for seed in range(100)]
    runs = [compared(each, restarts=restarts) for each in drawn]
    for side in ("challenger", "champion"):
        assert sum(each.p_value(side) <= 0.1 for each in runs) <= 12


def test_favours_that_alternate_do_not_promote_the_worse_one():
    """Of each two rows one favours the champion by more: who learns which would promote."""
    rng = np.random.default_rng(0)
    favours = np.tile([-0.6, 0.5], 1000)
    test = compared(favours + 0.1 * rng.standard_normal(2000))

    assert test.p_value("challenger") > 0.5
    assert test.decision(0.05) == "champion"


def test_an_opponent_that_saves_favours_and_spends_them_late_is_not_promoted():
    """Its bets lean as it likes, also on the capital, but their sum is never above 0."""
    won = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        test, saved = SequentialTest(bound=1.0), 0.0
        for _ in range(80):
            behind = test.log_e("challenger") < 0.5
            favour = -0.3 if behind and rng.random() < 0.5 else min(0.9, saved)
            saved -= favour
            test = test.update(1.0 if rng.random() < (1 + favour) / 2 else -1.0, 0.0)
        won += test.p_value("challenger") <= 0.2

    assert won <= 12
