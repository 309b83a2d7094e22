import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Cost, play
from leaseboard.algorithms.environments.holdout import SystemsEnvironment
from leaseboard.algorithms.errors import DivergedError

CLASSES = np.array([0.0, 0, 0, 1])


class Fits:
    """Predictions that are known, at a known cost."""

    def __init__(self, predictions, cpu_seconds=2.0):
        self.predictions = np.asarray(predictions, dtype=float)
        self.cpu_seconds = cpu_seconds
        self.asked = []

    def fit(self, system, seed, seconds):
        self.asked.append((system, seed, seconds))
        return self.predictions, Cost(self.cpu_seconds, 3.0, 1.0, peak_memory_mb=90.0)


def played(fits, truth=CLASSES, task="classification", budget=4.0):
    env = SystemsEnvironment(fits, truth, task, budget)
    log = list(play("forest", registry.build("forest-default"), env, 7))
    return env, log


def test_the_score_is_the_test_accuracy_and_the_cost_is_the_fits():
    fits = Fits([0, 0, 1, 1])
    env, log = played(fits)

    assert fits.asked == [("forest", 7, 4.0)]
    assert (log[-1].score, log[-1].metric, log[-1].at) == (0.75, "test_accuracy", 2.0)
    assert log[-1].metrics == {
        "accuracy": 0.75, "balanced_accuracy": pytest.approx(5 / 6), "f1": pytest.approx(2 / 3),
        "overrun": 0.0,
    }  # fmt: skip
    assert (env.cost.cpu_seconds, env.cost.spent_cpu_seconds) == (2.0, 1.0)
    assert env.cost.peak_memory_mb == 90.0


@pytest.mark.parametrize("predictions", [[0, 0, 0], [0, 0, 0, np.nan]])
def test_a_system_that_predicts_nonsense_has_diverged(predictions):
    with pytest.raises(DivergedError, match="forest did not predict a finite number for each"):
        played(Fits(predictions))
