"""The folds environment: fits are paid for, the score is of the champion alone."""

from dataclasses import replace

from leaseboard.algorithms.abc_selection.cross_validation import CrossValidation
from leaseboard.algorithms.environments.samples import FoldsEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from tests.selections import SimulatedFolds


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
