"""Full-run, successive halving, DAUB and a random choice on simulated learners."""

from __future__ import annotations

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import (
    Eliminated,
    ProbeFinished,
    of,
)
from tests.algorithms.played import audited
from tests.selections import SimulatedLearners

ACCURACIES = (0.6, 0.9, 0.7, 0.88, 0.5)
NAMES = (
    "abc", "full-run", "successive-halving", "hyperband", "daub", "random-configuration",
)  # fmt: skip


class Failing(SimulatedLearners):
    """Simulated learners of which some crash on more than `rows` rows."""

    def __init__(self, *args, failing, rows=0, **kwargs):
        super().__init__(*args, **kwargs)
        self.failing = failing
        self.rows = rows

    def measure(self, configuration, rows, test_rows):
        if configuration in self.failing and rows > self.rows:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="boom")
        return super().measure(configuration, rows, test_rows)


def run(name, environment, settings=None, seed=1, **kwargs):
    env = SamplesEnvironment(environment, initial_rows=100, **kwargs)
    return audited(name, registry.build(name, settings), env, seed), env


def learners(seed=0):
    return SimulatedLearners(ACCURACIES, 20_000, 5_000, seed)


def test_hyperband_halves_fewer_configurations_from_larger_samples():
    """With R = 2,700 and a first sample of 100, s_max = 3: 27, 12, 6 and 4 of up to 12."""
    environment = SimulatedLearners([0.5 + index / 40 for index in range(12)], 2700, 900, 0)
    events, env = run("hyperband", environment)
    probes = [(probe.rows, probe.configuration) for probe in of(events, ProbeFinished)]
    rungs = {rows: [index for at, index in probes if at == rows] for rows, _ in probes}
    assert list(rungs) == [100, 300, 900, 2700]
    assert len(rungs[100]) == 12
    assert len(rungs[300]) == 12  # four of the first bracket, and those of the second
    assert len(probes) == len(set(probes))  # none is measured twice
    trained = {index: environment.real_accuracy(index) for index in rungs[2700]}
    assert env.champion == max(trained, key=trained.get)
    assert len(trained) >= 4
    assert {event.configuration for event in of(events, Eliminated)} == set(range(12)) - {
        env.champion
    }


@pytest.mark.parametrize("name", NAMES)
def test_everyone_survives_configurations_that_crash(name):
    environment = Failing(ACCURACIES, 2000, 500, 0, failing={0, 4}, rows=150)
    events, env = run(name, environment, seed=2)
    assert events[-1].score == environment.real_accuracy(env.champion)
