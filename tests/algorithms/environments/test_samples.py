"""The ledgers of the environments of samples and of folds."""

import math
from dataclasses import replace

import pytest

from leaseboard.algorithms.abc_selection.cross_validation import CrossValidation
from leaseboard.algorithms.environments.samples import FoldsEnvironment, SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import LeaseGranted, ProbeFinished
from tests.algorithms.played import ended
from tests.selections import SimulatedFolds, SimulatedLearners


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
    events = [*samples.probe_fold(0, 1000, 2, 5), *samples.crown(0)]
    probe = events[1]

    assert (events[0].amount, probe.rows, probe.test_rows) == (800, 800, 200)
    assert math.isnan(probe.train_accuracy)
    assert (samples.at, samples.cost.cpu_seconds) == (800, pytest.approx(0.8))
    assert samples.score().metrics["largest_rows"] == 800


class Failing(SimulatedFolds):
    """The first configuration fails in the second fold; rows are held out."""

    def measure_fold(self, configuration, rows, fold, folds, *, verdicts):
        probe = super().measure_fold(configuration, rows, fold, folds, verdicts=verdicts)
        if (configuration, fold) == (0, 1):
            return replace(probe, status="crash", reason="no memory of it", right="")
        return probe

    def measure(self, configuration, rows, test_rows):
        return Probe(rows=rows, test_rows=test_rows, test_correct=7)


def run(environment, budget=None):
    env = FoldsEnvironment(environment, environment.folds, budget=budget)
    return env, list(CrossValidation().run(env, seed=0))


def test_a_fit_costs_one_and_its_recorded_seconds_are_charged():
    env, _ = run(SimulatedFolds([0.6, 0.8], 100, 4, seed=0))
    assert env.at == 8
    assert env.cost.cpu_seconds == 8
    score = env.score()
    assert score.metric == "cv_accuracy"
    assert score.value == score.metrics["cv_accuracy"] > 0.7


def test_rows_that_are_held_out_make_the_score():
    environment = Failing([0.5, 0.6, 0.9], 100, 4, seed=0)
    environment.test_rows = 10
    env, _ = run(environment)
    assert env.score().metric == "test_accuracy"
    assert env.score().value == 0.7
