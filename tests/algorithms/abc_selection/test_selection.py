"""Algorithms 1 and 2 on simulated learners, where every interval can be checked."""

from __future__ import annotations

from functools import partial

import pytest

from leaseboard.algorithms.abc_selection.bounds import Estimator, estimate
from leaseboard.algorithms.abc_selection.schedulers import Prospect, best_guess
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ConfigurationFailed,
    Eliminated,
    ProbeFinished,
    of,
)
from tests.algorithms.played import audited
from tests.selections import SimulatedLearners

tight = partial(ABC, bounds="best")

ACCURACIES = (0.6, 0.9, 0.7, 0.88, 0.5)
FITTED = [
    Probe(rows=25, test_rows=100, train_correct=23, test_correct=80),
    Probe(rows=50, test_rows=100, train_correct=45, test_correct=80),
]
"""Training accuracies below 0.9 after them are not a rise, 0.8 on tests is not a fall."""


class Overridden(SimulatedLearners):
    """Simulated learners, some of whose probes are replaced by `answer(configuration, probe)`."""

    def __init__(self, *args, answer, **kwargs):
        super().__init__(*args, **kwargs)
        self.answer = answer

    def measure(self, configuration, rows, test_rows):
        probe = super().measure(configuration, rows, test_rows)
        return self.answer(configuration, probe) or probe


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
    draws = [SimulatedLearners(ACCURACIES, 20_000, 5_000, seed) for seed in range(5)]
    rows = [
        sum(run(ABC(bounds=kind), learners)[0][-1].at for learners in draws)
        for kind in ("best", "paper")
    ]
    assert rows[0] < 0.7 * rows[1]


def test_equal_configurations_are_separated_at_full_size():
    learners = SimulatedLearners((0.8, 0.8), 3000, 1000, seed=3)
    events, _ = run(tight(epsilon=0.0), learners)
    assert len(of(events, Eliminated)) == 1
    last = [e for e in of(events, BoundsUpdated) if e.units == 3000]
    assert last
    assert all(event.lower == event.upper == event.value for event in last)


def test_duplicates_are_not_probed_twice():
    learners = SimulatedLearners((0.9, 0.9, 0.5), 20_000, 5_000, seed=0)
    learners.configurations[1] = learners.configurations[0]
    events, env = run(tight(), learners)
    assert env.champion == 0
    assert of(events, Eliminated)[0].reason == "duplicate of configuration 0"
    assert {probe.configuration for probe in of(events, ProbeFinished)} == {0, 2}


def crash(probe, reason="boom"):
    return Probe(rows=probe.rows, test_rows=probe.test_rows, status="crash", reason=reason)


def test_a_configuration_that_crashes_at_some_size_leaves_with_its_reason():
    learners = Overridden(
        (0.8, 0.9, 0.5), 20_000, 5_000, 0,
        answer=lambda c, probe: crash(probe) if c == 0 and probe.rows >= 100 else None,
    )  # fmt: skip
    events, env = run(tight(epsilon=0.0), learners)
    (failed,) = of(events, ConfigurationFailed)
    assert failed.configuration == 0
    assert failed.reason.startswith("crash at 100 rows: boom")
    assert env.champion == 1


def test_the_time_limit_returns_the_best_guess():
    learners = SimulatedLearners(ACCURACIES, 20_000, 5_000, seed=0)
    full, _ = run(tight(epsilon=0.0), learners)
    events, env = run(tight(epsilon=0.0, time_limit=1.5), learners)
    assert env.cost.cpu_seconds == pytest.approx(1.5)
    assert 0 < events[-1].at < full[-1].at
    assert env.champion in (1, 3)


def test_crossed_bounds_fall_back_to_the_newest_interval():
    estimator = Estimator(kind="best", n=2, m=3, train_rows=4000, t=1000, delta=0.5)
    candidate = Prospect(index=0, lower=0.95, upper=0.97, curve=[*FITTED])
    probe = Probe(rows=100, test_rows=200, train_correct=80, test_correct=160)
    assert estimate(candidate, probe, estimator)
    assert (candidate.lower, candidate.upper) == estimator(probe)


def test_best_guess_prefers_the_smaller_possible_loss():
    # The leader may lose 0.9 - 0.6 = 0.3, the hopeful one 0.75 - 0.55 = 0.2.
    leader = Prospect(index=0, lower=0.6, upper=0.75)
    hopeful = Prospect(index=1, lower=0.55, upper=0.9)
    assert best_guess(leader, [leader, hopeful]) is hopeful
    wide = Prospect(index=2, lower=0.1, upper=0.9)
    assert best_guess(leader, [leader, wide]) is leader
