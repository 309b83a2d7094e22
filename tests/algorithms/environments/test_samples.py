"""The ledger of the environment of samples."""

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
