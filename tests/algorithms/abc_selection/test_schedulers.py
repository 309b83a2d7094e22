"""Algorithm 3 by hand, and what sampling may cost next to Full-run."""

import pytest

from leaseboard.algorithms.abc_selection import schedulers
from leaseboard.algorithms.abc_selection.schedulers import SHARE, Prospect
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from tests.selections import SimulatedLearners


def probed(index, *, upper, lower=0.5, seconds=1.0, before=None, probes=1):
    """Return one whose last probe moved its interval from `before` (lower, upper, seconds)."""
    lower_before, upper_before, *earlier = before or (0.0, 1.0)
    costs = [*(earlier or [1.0] * (probes - 1)), seconds]
    return Prospect(
        index=index,
        lower=lower,
        upper=upper,
        lower_before=lower_before,
        upper_before=upper_before,
        curve=[Probe(rows=1000, test_rows=1, fit_cpu=cost) for cost in costs],
    )


def test_gradients_of_a_first_probe_count_from_nothing():
    candidate = probed(0, lower=0.5, upper=0.8, seconds=2.0)
    assert schedulers.lower_gradient(candidate) == pytest.approx(4.0)
    assert schedulers.upper_gradient(candidate) == pytest.approx(-10.0)


def test_gradient_ci_probes_the_best_when_raising_it_is_cheaper():
    best = probed(0, lower=0.6, upper=0.9, seconds=3.0, before=(0.5, 0.95, 1.0))  # 2/0.1 = 20
    other = probed(1, upper=0.8, seconds=3.0, before=(0.0, 0.85, 1.0))  # 2/0.05 = 40
    assert schedulers.gradient_ci([other, best])[0] is best


def test_gradient_ci_probes_the_runner_up_when_lowering_all_others_is_cheaper():
    best = probed(0, lower=0.6, upper=0.9, seconds=3.0, before=(0.55, 0.95, 1.0))  # 2/0.05 = 40
    second = probed(1, upper=0.8, seconds=3.0, before=(0.0, 0.9, 1.0))  # 20
    third = probed(2, upper=0.7, seconds=2.0, before=(0.0, 0.8, 1.0))  # 10; 40 > 20 + 10
    assert schedulers.gradient_ci([third, second, best])[0] is second


@pytest.mark.parametrize("scheduler", ["gradient-ci", "ucb", "round-robin"])
@pytest.mark.parametrize("n", [2, 8])
def test_ties_cost_no_more_than_full_run_and_its_share(scheduler, n):
    learners = SimulatedLearners([0.8] * n, 40_000, 10_000, seed=0)
    env = SamplesEnvironment(learners)
    for _ in play("abc", ABC(bounds="best", epsilon=0.0, scheduler=scheduler), env, seed=0):
        pass
    assert env.cost.cpu_seconds <= (1 + SHARE) * n * 40.0
