"""What has changed for good, and what has not."""

import numpy as np
import pytest

from leaseboard.tasks.keep.watch.stream_watch import QUIET_DAYS, DriftSums, K, days_of_drift, limit


def signals(days, most=None, both=True):
    """The days of signals, and for how long each had drifted."""
    sums, found = DriftSums(), []
    for number, today in enumerate(days):
        before = list(days[max(0, number - 60) : number])
        drifted = days_of_drift(sums, before, today, 0.01, most or limit(1, 2), both=both)
        if drifted:
            found.append((number, drifted))
    return found


def test_a_shift_is_found_in_days_and_dated():
    days = np.random.default_rng(1).normal(size=90)
    days[40:] += 4
    ((number, drifted),) = signals(days)

    assert 41 <= number <= 43
    assert abs(number + 1 - drifted - 40) <= 2


def test_one_wild_day_is_none():
    days = np.random.default_rng(1).normal(size=60)
    days[40] = 1000

    assert signals(days) == []


def test_a_fall_counts_where_asked():
    days = np.random.default_rng(1).normal(size=60)
    days[40:] -= 4

    assert signals(days)
    assert signals(days, both=False) == []


def test_a_day_without_a_value_changes_nothing():
    days = np.random.default_rng(1).normal(size=60)
    days[40:] += 4
    gap = np.insert(days, 41, [np.nan] * 3)

    assert [number - 3 for number, _ in signals(gap)] == [number for number, _ in signals(days)]


def test_the_limit_is_that_of_siegmund():
    b = 2 * K * (limit(40, 2) + 1.166)

    assert (np.exp(b) - b - 1) / (2 * K**2) == pytest.approx(QUIET_DAYS * 40 * 2)


def test_independent_days_are_as_quiet_as_is_said():
    """With a spread that is known; that of 60 days errs: see `benchmarks.watch`."""
    generator = np.random.default_rng(0)
    most, length = limit(1, 2), 20_000
    days = generator.normal(size=length)
    reference = list(np.quantile(generator.normal(size=10_001), np.linspace(0.001, 0.999, 999)))
    sums, found = DriftSums(known=len(reference)), 0
    for today in days:
        sums.known = len(reference)
        found += bool(days_of_drift(sums, reference, today, 0.0, most, both=True))

    assert length / found == pytest.approx(QUIET_DAYS, rel=0.35)
