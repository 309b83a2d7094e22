"""Corollary 1 and Theorem 3 where the assumptions hold with equality: by runs."""

from __future__ import annotations

import pytest

from benchmarks.coverage import Coverage, simulate
from leaseboard.algorithms.abc_selection.bounds import KINDS

RUNS = 60


@pytest.mark.parametrize("kind", KINDS)
def test_whole_runs_break_no_more_guarantees_than_allowed(kind):
    """From end to end; unions and Hoeffding leave so much room that only gross errors show."""
    found = simulate(kind, 0.5, RUNS)
    assert found.missed <= found.allowed
    assert found.lost <= found.allowed


def test_the_simulation_can_show_intervals_that_are_too_narrow():
    """Ten times the guaranteed probability of failure is seen to break the guarantee."""
    found = simulate("best", 0.5, RUNS)
    assert found.missed > Coverage(0.05, RUNS, 0, 0).allowed
