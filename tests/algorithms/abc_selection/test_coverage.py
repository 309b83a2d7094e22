"""Corollary 1 and Theorem 3 by Monte Carlo, where the assumptions hold with equality."""

from __future__ import annotations

import pytest

from algorithms.abc_selection.bounds import KINDS
from algorithms.abc_selection.coverage import Coverage, simulate

RUNS = 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_promises_are_broken_no_more_often_than_allowed(kind, delta):
    found = simulate(kind, delta, RUNS)
    assert found.missed <= found.allowed
    assert found.lost <= found.allowed


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_part_larger_than_the_training_part_breaks_no_promise(kind):
    found = simulate(kind, 0.05, RUNS, train_rows=100, test_rows=1000, initial_rows=25)
    assert found.missed <= found.allowed
    assert found.lost <= found.allowed


def test_the_simulation_can_tell_intervals_that_are_too_narrow():
    """Ten times the promised probability of failure is seen to fail more often than promised."""
    found = simulate("exact", 0.5, RUNS)
    assert found.missed > Coverage(0.05, RUNS, 0, 0).allowed
    assert 0 < found.lost < found.missed


def test_what_chance_explains_is_two_standard_deviations():
    assert Coverage(0.5, 400, 0, 0).allowed == pytest.approx(200 + 2 * 10)
