"""Algorithms 1 and 2 on simulated learners, where every interval can be checked."""

from __future__ import annotations

from functools import partial

import pytest

from leaseboard.algorithms.abc_selection import selection
from leaseboard.algorithms.abc_selection.bounds import Estimator, estimate
from leaseboard.algorithms.abc_selection.schedulers import Prospect, best_guess
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ConfigurationFailed,
    Eliminated,
    ProbeFinished,
    of,
)
from tests.algorithms.played import audited

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


def test_one_configuration_needs_no_probe():
    events, env = run(tight(), SimulatedLearners((0.7,), 500, 100, seed=0))
    assert env.champion == 0
    assert not of(events, ProbeFinished)


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


def test_when_all_fail_the_error_says_why():
    learners = Overridden((0.8, 0.7), 2000, 500, 0, answer=lambda _, probe: crash(probe))
    with pytest.raises(LeaseboardError, match="cannot be trained on 2000 rows: crash, boom"):
        run(tight(), learners)


def test_the_time_limit_returns_the_best_guess():
    learners = SimulatedLearners(ACCURACIES, 20_000, 5_000, seed=0)
    full, _ = run(tight(epsilon=0.0), learners)
    events, env = run(tight(epsilon=0.0, time_limit=1.5), learners)
    assert env.cost.cpu_seconds == pytest.approx(1.5)
    assert 0 < events[-1].at < full[-1].at
    assert env.champion in (1, 3)


def test_the_budget_in_seconds_stops_the_run():
    learners = SimulatedLearners(ACCURACIES, 20_000, 5_000, seed=0)
    events, _ = run(tight(epsilon=0.0), learners, unit="seconds", budget=1.5)
    assert events[0].unit == "seconds"
    assert events[-1].at == 1.5
    assert events[-1].reason == "budget spent"


def test_algorithm_2_keeps_an_interval_within_the_snapshot():
    estimator = Estimator(kind="paper", n=2, m=3, train_rows=4000, t=1000, delta=0.5)
    candidate = Prospect(index=0, lower_old=0.79, upper_old=0.81)
    probe = Probe(rows=100, test_rows=200, train_correct=80, test_correct=160)
    assert not estimate(candidate, probe, estimator)
    assert (candidate.lower, candidate.upper) == (0.79, 0.81)


def test_simultaneous_intervals_are_intersected_at_every_probe():
    estimator = Estimator(kind="best", n=2, m=3, train_rows=4000, t=1000, delta=0.5)
    candidate = Prospect(index=0, lower=0.79, upper=0.81, curve=[*FITTED])
    probe = Probe(rows=100, test_rows=200, train_correct=80, test_correct=160)
    assert not estimate(candidate, probe, estimator)
    assert (candidate.lower, candidate.upper) == (0.79, 0.81)


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


def test_the_first_samples_are_tested_on_twice_their_rows_and_larger_ones_on_eight_times():
    learners = SimulatedLearners((0.8, 0.83), 100_000, 100_000, seed=0)
    events, _ = run(tight(epsilon=0.01), learners, initial_rows=200)
    tested = {probe.rows: probe.test_rows // probe.rows for probe in of(events, ProbeFinished)}
    assert [tested[rows] for rows in (100, 200, 400, 800)] == [2, 2, 2, 8]


def test_who_is_dear_waits_for_the_others_and_skips_a_size():
    learners = SimulatedLearners(
        (0.7, 0.9, 0.8), 100_000, 25_000, seed=0, seconds_per_row=[1e-3, 1e-3, 0.1]
    )
    events, _ = run(tight(epsilon=0.01), learners, initial_rows=1000)
    probes = [(probe.configuration, probe.rows) for probe in of(events, ProbeFinished)]
    dear = [rows for configuration, rows in probes if configuration == 2]
    assert dear[:2] == [500, 2000]
    assert probes.index((2, 2000)) > probes.index((0, 2000))


def test_the_union_counts_distinct_configurations_sizes_and_those_in_use(monkeypatch):
    """Of 50 rows and its doublings, seven are at most a quarter of all; two drop no one."""
    given = []
    monkeypatch.setattr(
        selection,
        "Estimator",
        lambda *counts, idle: given.append((*counts, idle)) or Estimator(*counts),
    )
    learners = SimulatedLearners((0.9, 0.9, 0.5, 0.7), 20_000, 5_000, seed=0)
    learners.configurations[1] = learners.configurations[0]
    run(tight(delta=0.05), learners)
    kind, n, m, idle = "best", 3, 7, 2
    assert given == [(kind, n, m, 20_000, 5_000, 0.05, idle)]
