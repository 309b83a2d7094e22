"""Intervals held against the real accuracies."""

from __future__ import annotations

import pytest

from leaseboard.algorithms.abc_selection.calibration import calibrate, real_accuracies
from leaseboard.algorithms.events import BoundsUpdated, ChampionChanged, ProbeFinished


def probe(configuration, rows, accuracy, status="ok"):
    return ProbeFinished(
        at=0, configuration=configuration, rows=rows, train_accuracy=0.9, test_accuracy=accuracy,
        test_rows=10, cpu_seconds=1.0, wall_seconds=1.0, status=status,
    )  # fmt: skip


def bounds(configuration, lower, upper, units):
    return BoundsUpdated(
        at=0, configuration=configuration, value=0.5, lower=lower, upper=upper, units=units
    )


def test_real_accuracies_are_those_at_full_size():
    log = [
        probe(0, 100, 0.5),
        probe(0, 1000, 0.7),
        probe(1, 1000, 0.8),
        probe(2, 1000, 0, "crash"),
    ]
    assert real_accuracies(log) == {0: 0.7, 1: 0.8}


def test_violations_are_counted_by_the_assumption_they_break():
    log = [
        ChampionChanged(at=0, configuration=0, previous=None),
        bounds(0, 0.6, 0.9, 100),
        bounds(0, 0.75, 0.9, 200),  # lower bound above the truth
        bounds(1, 0.1, 0.7, 100),  # upper bound below it
        bounds(1, 0.8, 0.8, 1000),  # measured
        bounds(2, 0.1, 0.2, 100),  # the truth is not known
    ]
    result = calibrate(log, {0: 0.7, 1: 0.8}, full=1000)
    assert (result.intervals, result.above, result.below) == (3, 1, 1)
    assert result.loss == pytest.approx(0.1)
