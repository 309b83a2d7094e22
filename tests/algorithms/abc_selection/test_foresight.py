"""Which samples it takes to part a configuration from the others, as far as is foreseen."""

from __future__ import annotations

from leaseboard.algorithms.abc_selection.savings import samples_needed
from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.benches.selecting import Probe

SIZES = [1000, 2000, 4000, 8000]


def probed(index, right, *, rows=500, width=0.1, **others):
    """A configuration that classified so many of 1000 test rows correctly."""
    probe = Probe(rows=rows, test_rows=1000, test_correct=right)
    return Prospect(index=index, above=width, below=width, curve=[probe], **others)


def needed(candidate, *omega, epsilon=0.01):
    return samples_needed(candidate, omega, SIZES, epsilon)


def test_bounds_that_narrow_with_the_root_of_the_rows_part_two_where_they_meet():
    good, bad = probed(0, 900, lower=0.8), probed(1, 809)  # .81 + w meets .9 - w at w = .05
    assert needed(bad, good, bad) == [1000, 2000]
    assert needed(probed(1, 790), good, bad) == [1000, 2000]
    assert needed(probed(1, 700), good) == [1000]


def test_ties_are_not_parted_by_samples_that_are_too_small():
    leader, tie = probed(0, 800, lower=0.7), probed(1, 800)
    assert needed(tie, leader, tie) == []
    assert needed(tie, leader, tie, epsilon=0.06) == SIZES


def test_a_leader_that_was_trained_in_full_has_no_width():
    leader = probed(0, 800, rows=100_000, width=0.0, lower=0.8)
    tie = probed(1, 800)
    assert needed(tie, leader, tie, epsilon=0.051) == [1000, 2000]


def test_the_leader_is_probed_only_to_drop_somebody_who_can_be_dropped():
    leader, unknown = probed(0, 900, lower=0.8), probed(1, 500)
    assert needed(leader, leader, unknown, epsilon=0.05) == []
    unknown.upper = 0.81
    assert needed(leader, leader, unknown, epsilon=0.05) == [1000]


def test_of_those_that_were_never_probed_nothing_is_foreseen():
    leader, fresh = probed(0, 900, lower=0.8), Prospect(index=1)
    assert needed(fresh, leader, fresh) == []
