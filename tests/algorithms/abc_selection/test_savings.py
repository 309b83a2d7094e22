"""What sampling may cost beside Full-run."""

from __future__ import annotations

import pytest

from algorithms.abc_selection.savings import SHARE, Allowance, worthwhile
from algorithms.abc_selection.schedulers import Prospect
from algorithms.abc_selection.selection import ABC
from algorithms.abc_selection.simulation import SimulatedLearners
from algorithms.base import play
from algorithms.benches.samples import Probe, SamplesBench
from algorithms.events import ProbeFinished, of


def probed(index, seconds, rows=1000, **others):
    """A configuration after one probe of so many seconds of fitting and none of testing."""
    probe = Probe(rows=rows, test_rows=rows, fit_cpu=seconds, train_cpu=0.5)
    return Prospect(index=index, probes=1, rows=rows, curve=[probe], **others)


def test_small_data_are_trained_in_full_at_once():
    assert worthwhile([500, 1000, 2000, 3000], 3000) == [3000]
    bench = SamplesBench(SimulatedLearners((0.7, 0.9), 3000, 800, seed=0))
    events = list(play("abc", ABC(), bench, seed=0))
    assert {probe.rows for probe in of(events, ProbeFinished)} == {3000}


def test_samples_of_more_than_a_quarter_are_left_out():
    assert worthwhile([100, 200, 400, 800, 1600, 3200, 4000], 4000) == [100, 200, 400, 800, 4000]


def test_who_was_dropped_pays_for_the_samples_of_others():
    everyone = [probed(0, 1.0), probed(1, 1.0), probed(2, 8.0)]  # 100, 100, 800 seconds in full
    allowance = Allowance(everyone, 100_000, 25_000, spent=99.0)
    assert not allowance.covers(everyone[0], 4000, everyone)
    assert allowance.covers(everyone[0], 4000, everyone[:2])


def test_who_was_trained_in_full_saved_nothing():
    everyone = [probed(0, 1.0), probed(1, 100.0, rows=100_000)]
    allowance = Allowance(everyone, 100_000, 25_000, spent=100.0)
    assert not allowance.covers(everyone[0], 4000, everyone[:1])


def test_the_cost_of_the_never_probed_is_that_of_the_others():
    everyone = [probed(0, 1.0), Prospect(index=1)]
    assert Allowance(everyone, 100_000, 25_000, spent=18.0).covers(everyone[1], 1000, everyone)
    assert not Allowance(everyone, 100_000, 25_000, spent=20.0).covers(everyone[1], 1000, everyone)


def test_tests_cost_what_they_do_on_all_test_rows_and_training_rows_are_not_tested_in_full():
    probe = Probe(rows=1000, test_rows=8000, test_cpu=8.0, train_cpu=1.0)
    everyone = [Prospect(index=0, probes=1, rows=1000, curve=[probe])]  # 25 seconds in full
    assert Allowance(everyone, 100_000, 25_000).covers(everyone[0], 250, everyone)
    assert not Allowance(everyone, 100_000, 25_000).covers(everyone[0], 300, everyone)


def twice(index, first, second):
    curve = [Probe(rows=500 * k, test_rows=1, fit_cpu=t) for k, t in ((1, first), (2, second))]
    return Prospect(index=index, probes=2, rows=1000, curve=curve)


def test_a_learner_whose_time_does_not_grow_is_trained_in_full_and_a_linear_one_is_not():
    everyone = [twice(0, 1.0, 1.001), twice(1, 0.1, 0.2)]
    allowance = Allowance(everyone, 100_000, 25_000, spent=2.3)
    assert allowance.pointless(everyone[0], 2000)
    assert not allowance.pointless(everyone[1], 2000)
    assert not allowance.pointless(probed(2, 1.0), 2000)


def test_what_is_cheap_beside_the_usual_sample_is_no_reason_to_train_in_full():
    everyone = [twice(0, 0.01, 0.01), twice(1, 10.0, 20.0)]
    assert not Allowance(everyone, 100_000, 25_000, spent=30.02).pointless(everyone[0], 2000)


def test_samples_that_showed_to_be_pointless_are_not_charged_to_the_others():
    everyone = [twice(0, 1.0, 1.001), twice(1, 0.1, 0.2)]
    allowance = Allowance(everyone, 100_000, 25_000, spent=2.301)
    allowance.forgive(everyone[0])
    assert allowance.spent == pytest.approx(0.3)


def test_the_most_hopeful_is_trained_in_full_and_of_equals_the_cheapest():
    omega = [probed(0, 1.0, upper=0.8), probed(1, 5.0, upper=0.9), probed(2, 2.0, upper=0.9)]
    done = probed(3, 9.0, rows=100_000, upper=0.95)
    assert Allowance(omega, 100_000, 25_000).settle([*omega, done]) is omega[2]


@pytest.mark.parametrize("scheduler", ["gradient-ci", "ucb", "round-robin"])
@pytest.mark.parametrize("n", [2, 20])
def test_ties_cost_no_more_than_full_run_and_its_share(scheduler, n):
    learners = SimulatedLearners([0.8] * n, 40_000, 10_000, seed=0)
    bench = SamplesBench(learners)
    for _ in play("abc", ABC(epsilon=0.0, scheduler=scheduler), bench, seed=0):
        pass
    assert bench.cost.cpu_seconds <= (1 + SHARE) * n * 40.0


def test_under_a_time_limit_nobody_is_trained_in_full_for_want_of_allowance():
    bench = SamplesBench(SimulatedLearners([0.8] * 5, 40_000, 10_000, seed=0))
    events = list(play("abc", ABC(epsilon=0.0, time_limit=40.0), bench, seed=0))
    assert max(probe.rows for probe in of(events, ProbeFinished)) < 40_000
