"""What sampling may cost next to Full-run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from leaseboard.algorithms.abc_selection.savings import (
    SHARE,
    Allowance,
    samples_needed,
    worthwhile,
)
from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import ProbeFinished, of
from tests.selections import SimulatedLearners

tight = partial(ABC, bounds="best")


def probed(index, seconds, rows=1000, **others):
    """Return a configuration after one probe of so many seconds of fitting and none of testing."""
    probe = Probe(rows=rows, test_rows=rows, fit_cpu=seconds, train_cpu=0.5)
    return Prospect(index=index, curve=[probe], **others)


def test_small_data_are_trained_in_full_at_once():
    assert worthwhile([500, 1000, 2000, 3000], 3000) == [3000]
    env = SamplesEnvironment(SimulatedLearners((0.7, 0.9), 3000, 800, seed=0))
    events = list(play("abc", tight(), env, seed=0))
    assert {probe.rows for probe in of(events, ProbeFinished)} == {3000}


class SomeNetworks(SimulatedLearners):
    """The last four take half a second on however many rows, or two milliseconds a row."""

    def __init__(self, *, flat, seed):
        super().__init__([0.7, 0.72, 0.74, 0.9, 0.71, 0.73, 0.75, 0.6], 200_000, 50_000, seed)
        self.flat = flat
        for index, parameters in enumerate(self.configurations):
            parameters["learner"] = "network" if index > 3 else "trees"

    def measure(self, configuration, rows, test_rows):
        probe = super().measure(configuration, rows, test_rows)
        network = 0.5 if self.flat else 2e-3 * rows
        return replace(probe, fit_cpu=network if configuration > 3 else 2e-5 * rows)


@pytest.mark.parametrize("flat", [True, False])
def test_of_learners_whose_time_does_not_grow_few_take_samples(flat):
    learners = SomeNetworks(flat=flat, seed=0)
    env = SamplesEnvironment(learners)
    events = list(play("abc", tight(epsilon=0.05, delta=0.05), env, seed=0))

    rows = {
        index: [probe.rows for probe in of(events, ProbeFinished) if probe.configuration == index]
        for index in range(8)
    }
    assert env.champion == 3
    if flat:
        assert [rows[6], rows[7]] == [[200_000]] * 2
    else:
        assert max(rows[6] + rows[7]) < 20_000


def test_who_is_trained_in_full_is_where_a_second_buys_most_of_what_may_surpass_the_leader():
    leader = probed(0, 1.0, lower=0.7, upper=0.8)
    dear, likely = probed(1, 5.0, upper=0.95), probed(2, 2.0, upper=0.95)
    done = probed(3, 9.0, rows=100_000, upper=0.99)
    omega = [leader, dear, likely, done]
    assert Allowance(omega, 100_000, 25_000).most_useful(omega) is likely
    assert Allowance(omega, 100_000, 25_000).most_useful([leader, dear, done]) is leader


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
