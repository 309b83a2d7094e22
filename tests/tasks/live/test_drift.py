"""What has changed for good, and what has not."""

import numpy as np
import pytest

from leaseboard.tasks.live.drift import QUIET_DAYS, DriftSums, days_of_drift, limit


def signals(days, most=None, both=True):
    """Return the days of signals, and for how long each had drifted."""
    sums, found = DriftSums(), []
    for number, today in enumerate(days):
        before = list(days[max(0, number - 60) : number])
        drifted = days_of_drift(sums, before, today, 0.01, most or limit(1, 2), both=both)
        if drifted:
            found.append((number, drifted))
    return found


def test_one_wild_day_is_not_drift():
    days = np.random.default_rng(1).normal(size=60)
    days[40] = 1000

    assert signals(days) == []


def test_independent_days_are_as_quiet_as_is_said():
    """With a spread that is known; that of 60 days errs."""
    generator = np.random.default_rng(0)
    most, length = limit(1, 2), 20_000
    days = generator.normal(size=length)
    reference = list(np.quantile(generator.normal(size=10_001), np.linspace(0.001, 0.999, 999)))
    sums, found = DriftSums(known=len(reference)), 0
    for today in days:
        sums.known = len(reference)
        found += bool(days_of_drift(sums, reference, today, 0.0, most, both=True))

    assert length / found == pytest.approx(QUIET_DAYS, rel=0.35)
