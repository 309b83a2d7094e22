"""Rising Bandits and ER-UCB: their formulae by hand, their guarantees on simulated arms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaseboard.algorithms.bandits import Average
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.er_ucb import ErUcb, ErUcbAuto, exploitation, exploration
from leaseboard.algorithms.events import BoundsUpdated
from leaseboard.algorithms.rising_bandits import RisingBandits, survivors, upper_bound
from tests.simulation import SEVEN_GAUSSIANS, RisingArms, simulate


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


def test_bounds_use_the_pulls_left_over_all_arms():
    rewards = [[0.1, 0.2, 0.3, 0.4], [0.1]]
    log = scripted(RisingBandits(C=2), rewards, budget=20)
    bounds = [b for b in log if isinstance(b, BoundsUpdated) and b.configuration == 0]

    # Third own pull is the fifth of all: 0.3 + (0.3 - 0.1) / 2 * (20 - 5) = 1.8, clipped.
    assert bounds[2].at == 5
    assert (bounds[2].lower, bounds[2].upper) == (0.3, 1.0)


def test_under_concave_curves_the_best_arm_is_never_dismissed():
    """Assumption 1 holds for these curves, so the strict rate keeps the optimal arm."""
    arms = RisingArms(
        limits=(0.95, 0.94, 0.90, 0.80), drops=(0.5, 0.3, 0.2, 0.1), rates=(0.6, 0.8, 1.0, 1.0)
    )
    rising = simulate(RisingBandits(C=1), arms, budget=200, runs=3, seed=0)
    average = simulate(Average(), arms, budget=200, runs=3, seed=0)

    assert (rising.pulls.argmax(axis=1) == rising.best_arm).all()
    assert rising.best.mean() > average.best.mean()


def test_exploitation_term_of_equation_14():
    assert exploitation(np.array(0.02), np.array(0.0004), 0.01) == pytest.approx(0.22)


def test_exploration_term_of_equation_15():
    # t = 10, T = 4: e = sqrt(2 ln 10 / 4)
    e = np.sqrt(2 * np.log(10) / 4)

    assert exploration(np.array(4), 10, 0.01) == pytest.approx(e + 10 * np.sqrt(e))


def test_table_1():
    """The paper: best 1.06 ± 0.02, R_1 = 0.90 ± 0.01, arm 1 pulled most in every run."""
    table = simulate(ErUcb(), SEVEN_GAUSSIANS, budget=1000, runs=15, seed=0)

    assert table.best.mean() == pytest.approx(1.06, abs=0.015)
    assert 0.87 <= table.exploitation[:, 0].mean() <= 0.91
    assert (table.exploitation.argmax(axis=1) == 0).mean() >= 0.99


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [
        ({"gamma": 1.0}, 0.15, 0.20),  # equation 16, the one that is analysed
        ({"beta": 0.0}, 0.0, 0.02),  # below the best mean the policy is useless
        ({"theta": 0.5}, 0.1, 0.35),
        ({"gamma": 0.0}, 0.13, 0.15),
    ],
)
def test_figure_1_sensitivity(settings, least, most):
    study = simulate(ErUcb(**settings), SEVEN_GAUSSIANS, budget=1000, runs=8, seed=0)

    assert least <= study.exploitation[:, 0].mean() <= most


@pytest.mark.parametrize(("one_sided", "least"), [(True, 0.55), (False, 0.85)])
def test_beta_without_hindsight_finds_the_extreme_arm(one_sided, least):
    auto = ErUcbAuto(one_sided=one_sided)
    study = simulate(auto, SEVEN_GAUSSIANS, budget=1000, runs=8, seed=0)

    assert study.exploitation[:, 0].mean() > least
    assert (study.exploitation.argmax(axis=1) == 0).all()
