"""Early-stopped cross-validation: its bet and its guarantees."""

import math

import pytest

from leaseboard.algorithms.abc_selection.cross_validation import EarlyStoppedCV, log_capital
from leaseboard.algorithms.environments.samples import FoldsEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import Eliminated, of
from tests.selections import SimulatedFolds


def played(algorithm, environment):
    env = FoldsEnvironment(environment, environment.folds)
    return env, list(algorithm.run(env, seed=0))


def dropped(events):
    return {event.configuration for event in of(events, Eliminated)}


@pytest.mark.parametrize("e", [-0.5, 0.0, 0.3])
def test_the_bet_is_fair_where_the_claim_holds_with_equality(e):
    """The expectation of every share's capital after a row is 1."""
    for disagree in (abs(e), (1 + abs(e)) / 2, 1.0):
        wins, losses = (disagree + e) / 2, (disagree - e) / 2
        probabilities = {(1, 0, 0): wins, (0, 1, 0): 1 - disagree, (0, 0, 1): losses}
        capital = sum(
            probability * math.exp(log_capital(p, e)) for p, probability in probabilities.items()
        )
        assert capital == pytest.approx(1)


def test_the_best_is_dropped_no_more_often_than_delta():
    """Six that are alike but for the first, which is better by just epsilon: the hardest case."""
    runs, delta = 80, 0.2
    algorithm = EarlyStoppedCV(epsilon=0.05, delta=delta)
    wrong = 0
    for seed in range(runs):
        _, events = played(algorithm, SimulatedFolds([0.75] + [0.7] * 5, 400, 6, seed))
        wrong += 0 in dropped(events)
    assert wrong <= runs * delta


class Verdicts(SimulatedFolds):
    """Three that are tested on folds of given verdicts; the third is as the first."""

    def __init__(self, pair, folds):
        wins, ties, losses = pair
        self.configurations = [{"learner": str(n)} for n in range(3)]
        self.train_rows, self.test_rows, self.folds = 9, 0, folds
        self._right = [
            "0" * wins + "1" * ties + "1" * losses,
            "1" * wins + "1" * ties + "0" * losses,
        ]

    def measure_fold(self, configuration, *asked, verdicts):
        right = self._right[configuration % 2]
        return Probe(
            rows=9, test_rows=len(right), test_correct=right.count("1"), right=right, fit_cpu=1.0
        )


def test_one_is_dropped_just_where_the_capital_reaches_its_level():
    """Three configurations: (n - 1) / delta."""
    level = 2 / 0.1
    capitals = {
        (2, ties, losses): math.exp(log_capital((2, ties, losses), 0.01)) / level
        for ties in range(200)
        for losses in range(9, 25)
    }
    below = max((p for p in capitals if capitals[p] < 1), key=capitals.__getitem__)
    above = min((p for p in capitals if capitals[p] >= 1), key=capitals.__getitem__)
    assert capitals[below] > 0.98
    assert capitals[above] < 1.02
    for pair, expected in ((below, set()), (above, {1})):
        algorithm = EarlyStoppedCV(epsilon=0.01, delta=0.1)
        env = FoldsEnvironment(Verdicts(pair, 4), 4)
        events = [event for event in algorithm.run(env, seed=0) if env.at <= 3]
        assert dropped(events) == expected
