"""Sequential tests by hand, by enumeration of all cases, and against opponents that cheat."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.bet_steps import LOG_WEIGHTS, N_BETS, SHARE, log_entry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential_test import REACH, WAITED, SequentialTest

WEIGHTS = np.exp(LOG_WEIGHTS)
HALVES = 2.0 ** -np.arange(N_BETS)
LOSSES = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=60).map(
    np.array
)


def compared(differences, **settings):
    """Return the test after rows of these differences, the challenger at a loss of 0."""
    return SequentialTest(**settings).update_many(differences, np.zeros(len(differences)))


def peak(differences, side="challenger", **settings):
    return 1 / compared(differences, **settings).p_value(side)


def test_the_first_row_by_hand():
    test = SequentialTest(bound=2.0).update(loss_champion=3.0, loss_challenger=2.0)

    assert test.e_value("challenger") == pytest.approx((WEIGHTS * (1 + SHARE * HALVES / 2)).sum())
    assert test.e_value("champion") == pytest.approx((WEIGHTS * (1 - SHARE * HALVES / 2)).sum())
    assert WEIGHTS.sum() == pytest.approx(1)
    assert (test.mean, test.counted, test.clipped) == (1.0, 1, 0)


def test_the_scale_is_learned_from_the_first_differences():
    sizes = [5.0, 0.0, -1.0, 2.0, 0.0, 900.0, 3.0, -4.0, 3.0, 3.0, 0.5, 3.0, 3.0]
    before = compared(sizes[:-1])
    begun = compared(sizes)

    assert (before.clip, len(before.waited), before.interval(0.1)) == (0, 10, (-np.inf, np.inf))
    assert (begun.clip, begun.waited, begun.counted, begun.rows) == (REACH * 3.0, (), 0, 13)
    assert WAITED == 11


def test_the_clip_doubles_after_a_row_that_it_clipped_and_bets_never_grow():
    begun = compared([1.0] * WAITED)
    after = begun.update(20.0, 0.0).update(0.0, 1.0)

    assert (begun.clip, after.clip, after.clipped) == (REACH, 2 * REACH, 1)
    gained = 1 + SHARE * HALVES  # as 8, not as 20
    lost = 1 - SHARE * np.minimum(2 * HALVES, 1) / (2 * REACH)
    assert np.exp(after.challenger) == pytest.approx(gained * lost)


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


@pytest.mark.parametrize("sign", [1, -1], ids=["challenger", "champion"])
def test_the_interval_leaves_out_0_at_e_of_2_over_alpha_and_not_a_thousandth_before(sign):
    test = compared(
        sign * (np.random.default_rng(0).standard_normal(40).clip(-3, 3) + 1), bound=4.0
    )
    alpha = 2 / test.e_value("challenger" if sign > 0 else "champion")
    nearest = [min(test.interval(each), key=abs) * sign for each in (alpha * 1.001, alpha / 1.001)]

    assert alpha < 0.4
    assert nearest[0] > 0 >= nearest[1]


@given(LOSSES, st.integers(0, 60), st.booleans())
@settings(deadline=None)
def test_one_by_one_all_at_once_and_resumed_are_the_same(losses, cut, restarts):
    one = fresh = SequentialTest(restarts=restarts)
    for row in losses:
        one = one.update(*row)
    many, path = fresh.trace(*losses.T)
    stored = json.dumps(fresh.update_many(*losses[:cut].T).to_dict(), allow_nan=False)
    resumed = SequentialTest.from_dict(json.loads(stored)).update_many(*losses[cut:].T)

    assert one == many == resumed
    if many.counted:
        assert path[-1].tolist() == [many.log_e("challenger"), many.log_e("champion")]
    if not restarts:
        assert one.interval(0.1) == many.interval(0.1)


@given(LOSSES, st.integers(-900, 900))
@settings(deadline=None)
def test_the_unit_of_the_loss_does_not_matter(losses, power):
    losses = np.round(losses, 3)
    test, scaled = (
        SequentialTest().update_many(*losses.T),
        SequentialTest().update_many(*losses.T * 2.0**power),
    )

    assert (test.challenger, test.champion) == (scaled.challenger, scaled.champion)
    assert test.interval(0.1) == tuple(each / 2.0**power for each in scaled.interval(0.1))


@given(LOSSES, st.floats(0.01, 0.5))
@settings(deadline=None)
def test_the_interval_holds_the_clipped_mean_and_agrees_with_the_decision(losses, alpha):
    test, clipped = SequentialTest(), []
    for row in losses:
        test, clip = test.update(*row), test.clip
        if clip:
            clipped.append(np.clip(row[0] - row[1], -clip, clip))
    lower, upper = test.interval(alpha)
    wide = test.interval(alpha / 2)

    assert wide[0] <= lower <= upper <= wide[1]
    if clipped:
        assert lower <= np.mean(clipped) * (1 + 1e-9) + 1e-9
        assert upper >= np.mean(clipped) * (1 - 1e-9) - 1e-9
    if lower > 0:
        assert test.e_value("challenger") >= 2 / alpha * (1 - 1e-9)
    if upper < 0:
        assert test.e_value("champion") >= 2 / alpha * (1 - 1e-9)


@pytest.mark.parametrize("drawn", [(-1.0, 1.0), (-2.0, 1.0, 1.0), (-1.0, -1.0, 2.0)])
def test_over_all_paths_of_a_fair_game_e_is_one_and_rarely_ever_large(drawn):
    n = 11 if len(drawn) == 2 else 7
    ends = [compared(path, bound=2.0) for path in product(drawn, repeat=n)]
    for side in ("challenger", "champion"):
        assert np.mean([each.e_value(side) for each in ends]) == pytest.approx(1, abs=1e-12)
        for alpha in (0.8, 0.5, 0.3):
            assert np.mean([each.p_value(side) <= alpha for each in ends]) <= alpha


def test_over_all_signs_a_clip_that_is_learned_keeps_e_at_one():
    sizes = [1.0] * WAITED + [3.0, 20.0, 1.0, 50.0, 40.0, 7.0, 90.0, 2.0]
    n = len(sizes) - WAITED
    signs = (np.array([*[1] * WAITED, *path]) for path in product((-1, 1), repeat=n))
    ends = [compared(sizes * sign) for sign in signs]

    assert np.mean([each.e_value("challenger") for each in ends]) == pytest.approx(1, abs=1e-12)
    assert {each.clipped for each in ends} == {5}


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
    assert fresh.interval(0.05) == (-math.inf, math.inf)


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
    drawn = [make(np.random.default_rng(seed), 1000) for seed in range(200)]
    runs = [compared(each, restarts=restarts) for each in drawn]
    for side in ("challenger", "champion"):
        assert sum(each.p_value(side) <= 0.1 for each in runs) <= 20


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
    for seed in range(100):
        rng = np.random.default_rng(seed)
        test, saved = SequentialTest(bound=1.0), 0.0
        for _ in range(80):
            behind = test.log_e("challenger") < 0.5
            favour = -0.3 if behind and rng.random() < 0.5 else min(0.9, saved)
            saved -= favour
            test = test.update(1.0 if rng.random() < (1 + favour) / 2 else -1.0, 0.0)
        won += test.p_value("challenger") <= 0.2

    assert won <= 20


def test_an_average_gain_that_drifts_stays_in_the_interval():
    missed, drift = 0, 0.5 * np.sin(np.arange(300) / 30)
    for seed in range(100):
        noise = np.random.default_rng(seed).standard_normal(300)
        test = compared(1.0 * np.arange(1, WAITED + 1))
        for row in range(20, 301, 20):
            new = (drift + noise)[row - 20 : row]
            test = test.update_many(new, np.zeros(20))
            lower, upper = test.interval(0.1)
            if not lower <= drift[:row].mean() <= upper:
                missed += 1
                break

    assert missed <= 10


def test_one_absurd_row_does_not_end_the_sequential_test():
    test = compared([1.0] * WAITED).update(0.0, 1e300)
    later = test.update_many(np.ones(300), np.zeros(300))

    assert test.clip == 2 * REACH
    assert later.e_value("challenger") > 1e6


@pytest.mark.parametrize(("scale", "rows"), [(1e-300, 10**5), (1.0, 10**6), (1e300, 10**5)])
def test_a_million_rows_of_any_scale_stay_finite(scale, rows):
    rng = np.random.default_rng(2)
    test = compared((rng.standard_normal(rows) + 1) * scale)

    assert test.e_value("challenger") == math.inf
    assert test.p_value("challenger") == 0.0
    assert test.mean == pytest.approx(scale, rel=0.01)
    lower, upper = test.interval(0.05)
    assert 0.98 * scale < lower < upper < 1.02 * scale


@pytest.mark.parametrize(
    ("champion", "challenger", "reported"),
    [
        (
            [1.0, math.nan],
            [1.0, 1.0],
            "losses nan of the champion and 1.0 of the challenger must be",
        ),
        ([1.0], [math.inf], "losses 1.0 of the champion and inf of the challenger must be"),
        ([1e308], [-1e308], "differ by 2.0 at most"),
        ([1.0, 2.0], [1.0], r"losses of shapes \(2,\) and \(1,\): give one"),
        ([4.0], [1.0], "differ by 2.0 at most: give a larger bound"),
    ],
)
def test_losses_that_cannot_be_are_refused_in_one_line(champion, challenger, reported):
    with pytest.raises(UsageError, match=reported) as caught:
        SequentialTest(bound=2.0).update_many(champion, challenger)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"rowz": 1}, {"challenger": [0.0]}, {"mean": math.nan}, {"rows": -1}]
)
def test_a_state_that_cannot_be_is_refused_in_one_line(wrong):
    with pytest.raises(UsageError, match="the state of a sequential test") as caught:
        SequentialTest.from_dict(SequentialTest().to_dict() | wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.nan])
def test_a_level_that_is_not_a_probability_is_refused(alpha):
    with pytest.raises(UsageError, match="give a probability between 0 and 1"):
        SequentialTest().decision(alpha)
    with pytest.raises(UsageError, match="give a probability between 0 and 1"):
        SequentialTest().interval(alpha)


@pytest.mark.parametrize(
    ("mean", "found"), [(-1.0, "champion"), (0.0, "undecided"), (1.0, "undecided")]
)
def test_the_champion_is_better_only_if_the_plain_mean_agrees(mean, found, monkeypatch):
    monkeypatch.setattr(SequentialTest, "log_e", lambda _, side: 99.0 * (side == "champion"))

    assert SequentialTest(mean=mean).decision(0.05) == found
