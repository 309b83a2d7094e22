"""What sampling may cost next to Full-run."""

from __future__ import annotations

from functools import partial

import pytest

from leaseboard.algorithms.abc_selection.savings import (
    SHARE,
    samples_needed,
)
from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from tests.selections import SimulatedLearners

tight = partial(ABC, bounds="best")


@pytest.mark.parametrize("scheduler", ["gradient-ci", "ucb", "round-robin"])
@pytest.mark.parametrize("n", [2, 8])
def test_ties_cost_no_more_than_full_run_and_its_share(scheduler, n):
    learners = SimulatedLearners([0.8] * n, 40_000, 10_000, seed=0)
    env = SamplesEnvironment(learners)
    for _ in play("abc", tight(epsilon=0.0, scheduler=scheduler), env, seed=0):
        pass
    assert env.cost.cpu_seconds <= (1 + SHARE) * n * 40.0


SIZES = [1000, 2000, 4000, 8000]


def seen(index, right, *, rows=500, width=0.1, **others):
    """Return a configuration that classified so many of 1000 test rows correctly."""
    probe = Probe(rows=rows, test_rows=1000, test_correct=right)
    return Prospect(index=index, above=width, below=width, curve=[probe], **others)


def needed(candidate, *omega, epsilon=0.01):
    return samples_needed(candidate, omega, SIZES, epsilon)


def test_bounds_that_narrow_with_the_root_of_the_rows_part_two_where_they_meet():
    good, bad = seen(0, 900, lower=0.8), seen(1, 809)  # .81 + w meets .9 - w at w = .05
    assert needed(bad, good, bad) == [1000, 2000]
    assert needed(seen(1, 790), good, bad) == [1000, 2000]
    assert needed(seen(1, 700), good) == [1000]
