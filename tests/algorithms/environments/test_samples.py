"""The ledger of the environment of samples."""

import math

import pytest

from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import LeaseGranted, ProbeFinished
from tests.algorithms.played import ended
from tests.selections import SimulatedLearners


def env(**kwargs):
    return SamplesEnvironment(
        SimulatedLearners((0.8, 0.6), 1000, 200, 0), initial_rows=100, **kwargs
    )


def test_a_probe_is_a_lease_and_its_result():
    samples = env()
    (lease, result), probe = ended(samples.probe(0, 100))
    assert isinstance(lease, LeaseGranted)
    assert isinstance(result, ProbeFinished)
    assert (lease.at, lease.amount, result.at) == (0, 100, 100)
    assert (result.rows, result.test_rows) == (100, 200)
    assert probe.train_accuracy == result.train_accuracy
    assert samples.cost.cpu_seconds == pytest.approx(0.1)


def test_a_probe_that_its_seconds_end_costs_these_and_its_rows():
    samples = env()
    _, probe = ended(samples.probe(0, 100, seconds=0.05))
    assert probe is None
    assert (samples.at, samples.cost.cpu_seconds) == (100, pytest.approx(0.05))


class FoldedLearners(SimulatedLearners):
    """Simulated learners with folds of samples."""

    def measure_fold(self, configuration, rows, fold, folds):
        tested = len(range(fold, rows, folds))
        return self.measure(configuration, rows - tested, tested)


def test_a_fold_costs_what_it_is_trained_on_and_is_not_a_full_training():
    samples = SamplesEnvironment(FoldedLearners((0.8, 0.6), 1000, 200, 0), initial_rows=100)
    events = [*samples.probe(0, 1000, fold=2, folds=5), *samples.crown(0)]
    probe = events[1]

    assert (events[0].amount, probe.rows, probe.test_rows) == (800, 800, 200)
    assert math.isnan(probe.train_accuracy)
    assert (samples.at, samples.cost.cpu_seconds) == (800, pytest.approx(0.8))
    assert samples.score().metrics["largest_rows"] == 800
