"""The default's intervals keep their level on streams on which predicts go wrong."""

import numpy as np
import pytest

from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from tests.algorithms.online_automl.safe.hard_streams import (
    abrupt,
    constant,
    constant_then_not,
    noise,
    outliers,
    planes,
    stream_of,
    trap,
    trend,
)


def steps(n):
    x, y = noise(n)
    return x, y + np.repeat(np.random.default_rng(5).normal(0, 10, n // 500), 500)


def heavy(n):
    return noise(n)[0], np.random.default_rng(6).standard_t(1.5, n)


def walk(n):
    return noise(n)[0], np.cumsum(np.random.default_rng(7).normal(size=n))


def notes(make, n=6000, **settings):
    x, y = make(n)
    environment = StreamEnvironment(stream_of(x, y))
    for _ in OnlineAutoML(b=8, **settings).run(environment, seed=0):
        pass
    return environment.score().metrics


STREAMS = [planes, abrupt, outliers, trend, trap, steps, heavy, walk]


@pytest.mark.parametrize("make", STREAMS)
def test_ninety_percent_are_covered_and_no_window_is_far_from_it(make):
    metrics = notes(make)

    assert 0.89 <= metrics["coverage"] <= 0.91
    assert metrics["coverage_in_worst_window"] >= 0.86
    assert metrics["unbounded_intervals"] == 0
    assert np.isfinite(metrics["interval_width"])


def test_labels_that_are_hit_exactly_are_covered_and_what_comes_then_as_well():
    assert notes(constant)["coverage"] == 1

    after = notes(constant_then_not)
    assert after["coverage"] > 0.91
    assert after["coverage_in_worst_window"] >= 0.86


def test_labels_that_come_late_because_of_what_they_are_are_covered():
    """Large ones wait: with a rate for each delay coverage would be .77 and .63."""
    rng, delay = np.random.default_rng(0), 100
    intervals, waiting, covered = Intervals(later=True), [], []
    for t in range(20_000):
        label = rng.normal()
        waiting.append((t + (delay if abs(label) > 1 else 0), t, label, intervals.ask(0.0)))
        due = [one for one in waiting if one[0] <= t]
        waiting = [one for one in waiting if one[0] > t]
        for _, at, value, asked in due:
            low, high = intervals.around(0.0, 0.9, asked)
            covered.append(low <= value <= high)
            intervals.update(value, 0.0, asked, t - at)

    assert np.mean(covered[5000:]) == pytest.approx(0.9, abs=0.02)
