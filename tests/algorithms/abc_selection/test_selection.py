"""Algorithms 1 to 3: by hand, and on simulated learners."""

from functools import partial

import pytest

from leaseboard.algorithms.abc_selection import schedulers
from leaseboard.algorithms.abc_selection.schedulers import SHARE, Prospect
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import Probe, SamplesEnvironment
from leaseboard.algorithms.events import Eliminated, ProbeFinished, of
from tests.algorithms.played import audited
from tests.selections import SimulatedLearners

tight = partial(ABC, bounds="best")

ACCURACIES = (0.6, 0.9, 0.7, 0.88, 0.5)


def run(algorithm, environment, **kwargs):
    """Return the audited events of a job."""
    env = SamplesEnvironment(environment, initial_rows=kwargs.pop("initial_rows", 100), **kwargs)
    return audited("abc", algorithm, env, 1), env


@pytest.mark.parametrize("scheduler", ["gradient-ci", "ucb", "round-robin"])
@pytest.mark.parametrize("bounds", ["best", "paper"])
def test_finds_the_best_configuration(scheduler, bounds):
    learners = SimulatedLearners(ACCURACIES, 20_000, 5_000, seed=0)
    algorithm = ABC(scheduler=scheduler, bounds=bounds, epsilon=0.005, delta=0.05)
    events, env = run(algorithm, learners)
    assert env.champion == 1
    assert events[-1].score == learners.real_accuracy(1)
    probed = of(events, ProbeFinished)
    assert {probe.configuration for probe in probed} == set(range(5))
    assert sum(probe.rows for probe in probed) == events[-1].at
    assert max(p.rows for p in probed if p.configuration == 4) < 2000


def test_tighter_bounds_need_fewer_rows():
    draws = [SimulatedLearners(ACCURACIES, 20_000, 5_000, seed) for seed in range(2)]
    rows = [
        sum(run(ABC(bounds=kind), learners)[0][-1].at for learners in draws)
        for kind in ("best", "paper")
    ]
    assert rows[0] < 0.7 * rows[1]


def test_duplicates_are_not_probed_twice():
    learners = SimulatedLearners((0.9, 0.9, 0.5), 20_000, 5_000, seed=0)
    learners.configurations[1] = learners.configurations[0]
    events, env = run(tight(), learners)
    assert env.champion == 0
    assert of(events, Eliminated)[0].reason == "duplicate of configuration 0"
    assert {probe.configuration for probe in of(events, ProbeFinished)} == {0, 2}


def test_the_time_limit_returns_the_best_guess():
    learners = SimulatedLearners(ACCURACIES, 20_000, 5_000, seed=0)
    full, _ = run(tight(epsilon=0.0), learners)
    events, env = run(tight(epsilon=0.0, time_limit=1.5), learners)
    assert env.cost.cpu_seconds == pytest.approx(1.5)
    assert 0 < events[-1].at < full[-1].at
    assert env.champion in (1, 3)


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
