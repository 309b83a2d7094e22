import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.events import BoundsUpdated, Eliminated
from leaseboard.algorithms.policies.bandits import Average
from leaseboard.algorithms.policies.policy import Problem
from leaseboard.algorithms.rising_bandits import (
    RisingBandits,
    RisingBanditsCost,
    affordable_trials,
    survivors,
    upper_bound,
)
from tests.simulation import RisingArms, simulate

RNG = np.random.default_rng(0)


def scripted(algorithm, rewards, budget):
    """Play `algorithm` on arms whose rewards are listed; the last one repeats."""

    class Script(Trials):
        arms = tuple(f"a{i}" for i in range(len(rewards)))
        tunable = (True,) * len(rewards)

        def trial(self, arm, n, seconds=None):
            mine = rewards[arm]
            return Trial(arm, {"n": n}, mine[min(n, len(mine) - 1)], None, 1.0, 1.0)

    return list(play("rising-bandits", algorithm, PullsEnvironment(Script(), budget), 0))


def test_upper_bound_extrapolates_and_is_clipped():
    u = [upper_bound(y, omega, 50) for y, omega in ((0.8, 0.001), (0.8, 0.01), (1.1, 0.0))]

    assert u == pytest.approx([0.85, 1.0, 1.1])


def test_affordable_trials_of_equation_16():
    assert affordable_trials(100.0, 4.0, look_ahead=0.5) == 12.5
    assert affordable_trials(-1.0, 4.0) == 0


def box(lower, upper, candidates, strict):
    """Run lines 10 to 14 literally, over the pairs in order; a removed arm removes no other."""
    keep = candidates.copy()
    for i in range(len(lower)):
        for j in range(len(lower)):
            beaten = lower[i] > upper[j] if strict else lower[i] >= upper[j]
            if i != j and keep[i] and keep[j] and beaten:
                keep[j] = False
    return keep


grid = st.integers(0, 5).map(lambda n: n / 5)


@given(arrays(float, (2, 6), elements=grid), arrays(bool, 6), st.booleans())
def test_survivors_are_those_of_the_box(values, candidates, strict):
    lower, upper = values.min(axis=0), values.max(axis=0)
    candidates[0] = True
    got = survivors(lower, upper, candidates, strict=strict)
    expected = box(lower, upper, candidates, strict)

    # Of arms that tie exactly with the leader any one may stay; all others are as in the box.
    assert sorted(zip(lower[got], upper[got], strict=True)) == sorted(
        zip(lower[expected], upper[expected], strict=True)
    )


def test_no_arm_leaves_before_c_plus_one_own_pulls():
    log = scripted(RisingBandits(C=3), [[0.9], [0.1], [0.2]], budget=30)
    first = next(event for event in log if isinstance(event, Eliminated))

    assert first.at == 3 * (3 + 1)
    assert all(b.upper == 1 for b in log if isinstance(b, BoundsUpdated) and b.units <= 3)


def test_bounds_use_the_pulls_left_over_all_arms():
    rewards = [[0.1, 0.2, 0.3, 0.4], [0.1]]
    log = scripted(RisingBandits(C=2), rewards, budget=20)
    bounds = [b for b in log if isinstance(b, BoundsUpdated) and b.configuration == 0]

    # Third own pull is the fifth of all: 0.3 + (0.3 - 0.1) / 2 * (20 - 5) = 1.8, clipped.
    assert bounds[2].at == 5
    assert (bounds[2].lower, bounds[2].upper) == (0.3, 1.0)


def test_cost_aware_keeps_the_cheap_arm_that_grows_equally():
    policy = RisingBanditsCost(C=2).policy(Problem(2, 100.0, "cpu_seconds"), RNG)
    costs, rewards = (1.0, 20.0), ((0.5, 0.501, 0.502), (0.4, 0.401, 0.402))
    for n in range(3):
        for arm in (0, 1):
            policy.update(policy.select(), rewards[arm][n], costs[arm])

    # After 63 seconds: 0.402 + 0.001 * 37 / 20, below 0.502, so the dear arm goes.
    assert policy.upper[1] == pytest.approx(0.402 + 0.001 * 37 / 20)
    assert policy.candidates.tolist() == [True, False]


def order_of(rewards, costs, budget, turns="seconds"):
    """Return the arms in the order of their pulls, until each was pulled once."""
    settings = RisingBanditsCost(turns=turns)
    policy = settings.policy(Problem(len(rewards), budget, "cpu_seconds"), RNG)
    order = []
    while len({*order}) < len(rewards):
        arm = policy.select()
        order.append(arm)
        policy.update(arm, rewards[arm], costs[arm])
    return order


@pytest.mark.parametrize(
    ("rewards", "order"),
    [
        ((0.5, 0.6, 0.4, 0.3), [0, 0, 1, 1, 2, 3]),
        ((0.5, 0.4, 0.6, 0.3), [0, 0, 1, 2, 2, 3]),
        ((0.5, 0.4, 0.3, 0.6), [0, 0, 1, 2, 3]),  # of the last the first round is over
        ((0.5, 0.5, 0.5, 0.5), [0, 0, 1, 2, 3]),  # an equal is not better
        ((0.0, 0.0, 0.5, 0.4), [0, 1, 2, 2, 3]),  # what failed is not the best
    ],
)
def test_the_best_arm_so_far_has_its_second_trial_before_the_arms_that_wait(rewards, order):
    assert order_of(rewards, (1.0,) * 4, 100.0) == order
    assert order_of(rewards, (1.0,) * 4, 100.0, turns="pulls") == [0, 1, 2, 3]


def test_under_concave_curves_the_best_arm_is_never_dismissed():
    """Assumption 1 holds for these curves, so the strict rate keeps the optimal arm."""
    arms = RisingArms(
        limits=(0.95, 0.94, 0.90, 0.80), drops=(0.5, 0.3, 0.2, 0.1), rates=(0.6, 0.8, 1.0, 1.0)
    )
    rising = simulate(RisingBandits(C=1), arms, budget=200, runs=3, seed=0)
    average = simulate(Average(), arms, budget=200, runs=3, seed=0)

    assert (rising.pulls.argmax(axis=1) == rising.best_arm).all()
    assert rising.best.mean() > average.best.mean()
