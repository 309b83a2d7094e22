"""Corollary 1 and Theorem 3 where the assumptions hold with equality: event by event, by runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from benchmarks import coverage
from benchmarks.coverage import Coverage, simulate
from leaseboard.algorithms.abc_selection.bounds import KINDS, Estimator
from leaseboard.algorithms.environments.selecting import Probe

RUNS = 300
ROWS, TESTED, TEST_ROWS = 400, 800, 100_000
ONE_EVENT = [kind for kind in KINDS if kind != "best"]
"""Whose upper bound is one event; the two of ``best`` are summed in its proof."""
CONFIGURATIONS = SIZES = 100  # alike, so that one event has the same share of delta in every kind
DELTA = 0.05
ALPHA = DELTA / (2 * CONFIGURATIONS * SIZES)


def too_low(kind, share, radius=1.0):
    """Return the probability, summed and not drawn, that one upper bound is below the truth.

    `share` of all rows is classified correctly; `radius` scales the bound's width.
    """
    correct = round(share * (ROWS + TEST_ROWS))
    probability = 0.0
    for x in plausible(ROWS + TEST_ROWS, correct, ROWS):
        probe = Probe(rows=ROWS, test_rows=1, train_correct=x, test_correct=0)
        upper = x / ROWS + radius * (interval(kind, probe)[1] - x / ROWS)
        if (correct - x) / TEST_ROWS > upper + 1e-12:
            probability += hypergeom.pmf(x, ROWS + TEST_ROWS, correct, ROWS)
    return probability


def too_high(kind, share, radius=1.0):
    """Return the probability that one lower bound is above the truth."""
    correct = round(share * TEST_ROWS)
    probability = 0.0
    for x in plausible(TEST_ROWS, correct, TESTED):
        probe = Probe(rows=1, test_rows=TESTED, train_correct=0, test_correct=x)
        lower = x / TESTED + radius * (interval(kind, probe)[0] - x / TESTED)
        if correct / TEST_ROWS < lower - 1e-12:
            probability += hypergeom.pmf(x, TEST_ROWS, correct, TESTED)
    return probability


def plausible(population, correct, drawn):
    """Return counts of correct rows; those left out have less than ALPHA / 1000 together."""
    low, high = hypergeom.ppf([ALPHA / 2000, 1 - ALPHA / 2000], population, correct, drawn)
    return map(int, np.arange(low, high + 1))


def interval(kind, probe):
    of = Estimator(kind=kind, n=CONFIGURATIONS, m=SIZES, train_rows=ROWS, t=TEST_ROWS, delta=DELTA)
    return of(probe)


@pytest.mark.parametrize("misses", [too_low, too_high])
@pytest.mark.parametrize("kind", ONE_EVENT)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_single_bound_misses_no_more_often_than_its_event_may(misses, kind, share):
    assert misses(kind, share) <= ALPHA


@pytest.mark.parametrize("misses", [too_low, too_high])
@pytest.mark.parametrize("kind", ONE_EVENT)
def test_a_width_a_fifth_too_small_would_be_seen(misses, kind):
    assert misses(kind, 0.5, radius=0.8) > ALPHA


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_whole_runs_break_no_more_guarantees_than_allowed(kind, delta):
    """From end to end; unions and Hoeffding leave so much room that only gross errors show."""
    found = simulate(kind, delta, RUNS)
    assert found.missed <= found.allowed
    assert found.lost <= found.allowed


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_part_larger_than_the_training_part_breaks_no_guarantee(kind):
    found = simulate(kind, 0.05, RUNS, train_rows=100, test_rows=1000, initial_rows=25)
    assert found.missed <= found.allowed
    assert found.lost <= found.allowed


@pytest.mark.parametrize("kind", ["best", "exact"])
def test_the_simulation_can_show_intervals_that_are_too_narrow(kind):
    """Ten times the guaranteed probability of failure is seen to break the guarantee."""
    found = simulate(kind, 0.5, RUNS)
    assert found.missed > Coverage(0.05, RUNS, 0, 0).allowed


def test_what_chance_explains_is_two_standard_deviations():
    assert Coverage(0.5, 400, 0, 0).allowed == pytest.approx(200 + 2 * 10)


def test_a_line_for_every_kind_and_delta(capsys):
    assert coverage.main(["--runs", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [
        [kind, delta, "5"]
        for kind in ("best", "exact", "serfling", "paper")
        for delta in ("0.50", "0.05")
    ]


@pytest.mark.parametrize(("missed", "lost"), [(100, 0), (0, 100)])
def test_a_guarantee_that_is_broken_too_often_exits_with_1(monkeypatch, missed, lost):
    monkeypatch.setattr(
        coverage, "simulate", lambda _, delta, runs: Coverage(delta, runs, missed, lost)
    )
    assert coverage.main(["--runs", "100"]) == 1


def test_no_runs_are_refused(capsys):
    with pytest.raises(SystemExit):
        coverage.main(["--runs", "0"])
    assert "give at least 1" in capsys.readouterr().err
