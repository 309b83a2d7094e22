"""Full-run, successive halving, DAUB and a random choice on simulated learners."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.samples import Probe, SamplesEnvironment
from tests.algorithms.played import audited
from tests.selections import SimulatedLearners

ACCURACIES = (0.6, 0.9, 0.7, 0.88, 0.5)
NAMES = ("abc", "full-run", "successive-halving", "daub", "random-configuration")


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


@pytest.mark.parametrize("name", NAMES)
def test_everyone_survives_configurations_that_crash(name):
    environment = Failing(ACCURACIES, 2000, 500, 0, failing={0, 4}, rows=150)
    env = SamplesEnvironment(environment, initial_rows=100)
    events = audited(name, registry.build(name), env, seed=2)
    assert events[-1].score == environment.real_accuracy(env.champion)
