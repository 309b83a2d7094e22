import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.referee import Referee
from leaseboard.algorithms.benches.systems import SystemFit, SystemsBench
from leaseboard.algorithms.errors import DivergedError, UsageError

CLASSES = np.array([0.0, 0, 0, 1])


class Fits:
    """Forecasts that are known, at a known cost."""

    def __init__(self, forecasts, cpu_seconds=2.0):
        self.forecasts = np.asarray(forecasts, dtype=float)
        self.cpu_seconds = cpu_seconds
        self.asked = []

    def fit(self, system, seed, seconds):
        self.asked.append((system, seed, seconds))
        return SystemFit(self.forecasts, self.cpu_seconds, 3.0, 1.0, peak_memory_mb=90.0)


def played(fits, truth=CLASSES, task="classification", budget=4.0):
    bench = SystemsBench(fits, truth, task, budget)
    log = list(play("forest", registry.build("forest-default"), bench, 7))
    return bench, log


def test_the_score_is_the_test_accuracy_and_the_cost_is_the_fits():
    fits = Fits([0, 0, 1, 1])
    bench, log = played(fits)

    assert fits.asked == [("forest", 7, 4.0)]
    assert (log[-1].score, log[-1].metric, log[-1].at) == (0.75, "test_accuracy", 2.0)
    assert log[-1].metrics == {"balanced_accuracy": pytest.approx(5 / 6), "overrun": 0.0}
    assert (bench.cost.cpu_seconds, bench.cost.spent_cpu_seconds) == (2.0, 1.0)
    assert bench.cost.peak_memory_mb == 90.0


def test_an_overrun_is_told_and_not_hidden():
    bench, log = played(Fits(CLASSES, cpu_seconds=5.0))

    assert (log[-1].at, log[-1].metrics["overrun"]) == (4.0, 0.25)
    assert bench.cost.cpu_seconds == 5.0


def test_of_a_regression_the_score_is_r2():
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    _, log = played(Fits([1.0, 2.0, 3.0, 2.0]), truth, "regression")

    assert log[-1].score == pytest.approx(1 - 4 / 5)
    assert (log[-1].metric, log[-1].metrics["mae"]) == ("test_r2", 0.5)
    assert played(Fits([1.0, 1.0]), np.ones(2), "regression")[1][-1].score == 0


@pytest.mark.parametrize("forecasts", [[0, 0, 0], [0, 0, 0, np.nan]])
def test_a_system_that_forecasts_nonsense_has_diverged(forecasts):
    with pytest.raises(DivergedError, match="forest did not forecast a finite number for each"):
        played(Fits(forecasts))


def test_the_test_rows_are_forecast_once_and_their_labels_are_not_shown():
    bench, _ = played(Fits(CLASSES))

    with pytest.raises(ValueError, match="forecast before"):
        bench.fit("forest", 0)
    window = Referee(SystemsBench(Fits(CLASSES), CLASSES, "classification")).window
    shown = [getattr(window, name) for name in dir(SystemsBench) if not name.startswith("_")]
    assert not any(value is CLASSES for value in shown)


def test_a_negative_budget_is_refused():
    with pytest.raises(UsageError, match="a budget of -1 CPU seconds is negative"):
        SystemsBench(Fits(CLASSES), CLASSES, "classification", -1)
