"""Algorithms 1 and 2 on simulated learners, where every interval can be checked."""

from functools import partial

import pytest

from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.environments.samples import SamplesEnvironment
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
