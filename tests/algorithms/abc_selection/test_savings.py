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
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import ProbeFinished, of

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


def test_samples_of_more_than_a_quarter_are_left_out():
    assert worthwhile([100, 200, 400, 800, 1600, 3200, 4000], 4000) == [100, 200, 400, 800, 4000]


def test_who_was_dropped_pays_for_the_samples_of_others():
    everyone = [probed(0, 1.0), probed(1, 1.0), probed(2, 8.0)]  # 31, 31, 246 seconds in full
    allowance = Allowance(everyone, 100_000, 25_000)
    assert not allowance.covers(everyone[0], 90_000, everyone)
    assert allowance.covers(everyone[0], 90_000, everyone[:2])


def test_the_cost_of_the_never_probed_is_that_of_the_others():
    everyone = [probed(0, 1.0), Prospect(index=1)]  # 31 seconds in full
    allowance = Allowance(everyone, 100_000, 25_000)
    assert allowance.covers(everyone[1], 12_000, everyone)
    assert not allowance.covers(everyone[1], 14_000, everyone)


def test_tests_cost_what_they_do_on_all_test_rows_and_training_rows_are_not_tested_in_full():
    probe = Probe(rows=1000, test_rows=8000, test_cpu=0.8, train_cpu=0.1)
    everyone = [Prospect(index=0, curve=[probe])]  # 2.5 seconds in full
    assert not Allowance(everyone, 100_000, 25_000).covers(everyone[0], 1, everyone)
    assert Allowance(everyone, 100_000, 250_000).covers(everyone[0], 1000, everyone)


def sampled(index, first, *others, rows=500, learner="own"):
    """Return one after fits of so many seconds on doubling samples, tested in no time."""
    curve = [Probe(rows=rows << k, test_rows=1, fit_cpu=t) for k, t in enumerate((first, *others))]
    return Prospect(index=index, curve=curve, learner=learner)


def test_samples_that_cost_more_than_the_full_training_are_not_charged_to_the_others():
    costly, linear = sampled(0, 1.0, 1.0), sampled(1, 0.01, 0.02)  # 31 and 2 seconds in full
    allowance = Allowance([costly, linear], 100_000, 25_000)
    costly.curve.append(Probe(rows=100_000, test_rows=25_000, fit_cpu=0.1))
    assert allowance.covers(linear, 2000, [costly, linear])
    assert not allowance.covers(linear, 5000, [costly, linear])


def test_samples_pay_that_cost_a_quarter_of_the_full_training():
    single = probed(0, 1.0)  # 31 seconds in full
    allowance = Allowance([single], 100_000, 25_000)
    assert allowance.pays(single, [2000, 4000])  # 1.3 + 1.9 of fits, 1 + 2 of tests
    assert not allowance.pays(single, [2000, 4000, 8000])


def test_samples_do_not_pay_of_a_learner_whose_time_did_not_grow_over_four_times_the_rows():
    flat = sampled(0, 1.0, 1.0, 1.05)
    slow, linear = sampled(1, 1.0, 1.0, learner="a"), sampled(2, 1.0, 2.0, 4.0, learner="b")
    allowance = Allowance([flat, slow, linear], 100_000, 25_000)
    assert not allowance.pays(flat, [4000])
    assert allowance.pays(slow, [4000])
    assert allowance.pays(linear, [4000])


def test_short_fits_may_be_all_overhead():
    cheap, dear = sampled(0, 0.01, 0.01, 0.01), sampled(1, 1.0, 2.0, 4.0)
    assert Allowance([cheap, dear], 100_000, 25_000).pays(cheap, [4000])


@pytest.mark.parametrize(
    ("seconds", "learner", "known"),
    [
        (1.5, "network", True),
        (1.5, "forest", False),
        (2.5, "network", False),
        (0.0, "network", False),
    ],
)
def test_what_samples_showed_of_a_learner_is_known_of_its_like_after_one(seconds, learner, known):
    flat, single = (
        sampled(0, 1.0, 1.0, 1.0, learner="network"),
        sampled(1, seconds, learner=learner),
    )
    assert Allowance([flat, single], 100_000, 25_000).pays(single, [1000]) is not known
    flat.curve.append(Probe(rows=100_000, test_rows=25_000, fit_cpu=200.0))
    assert Allowance([flat, single], 100_000, 25_000).pays(single, [1000]) is not known


@pytest.mark.parametrize(
    ("networks", "waits", "flat"),
    [
        ([(1.0,), (1.2,)], True, False),  # the second sample of one will show
        ([(1.0,)], False, False),  # one may be unlike the others
        ([(1.0,), (0.01,)], False, False),  # they are not alike
        ([(1.0, 1.0, 1.0), (1.2,)], True, True),  # it showed that samples are a waste
        ([(1.0, 2.0, 4.0), (1.2,)], False, False),  # it showed that samples are not
    ],
)
def test_the_never_probed_waits_while_the_time_of_its_like_is_unknown(networks, waits, flat):
    usual = [sampled(i, 0.01, 0.02, learner="trees") for i in range(4)]
    known = [sampled(4 + i, *each, learner="network") for i, each in enumerate(networks)]
    last = Prospect(index=9, learner="network")
    allowance = Allowance([*usual, *known, last], 100_000, 25_000)

    assert allowance.waits(last) is waits
    assert allowance.flat(last) is flat
    assert not allowance.waits(Prospect(index=9, learner="other"))


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


def test_dear_is_who_takes_ten_times_as_long_as_is_usual():
    everyone = [sampled(0, 0.01, 0.02), sampled(1, 0.01, 0.02), sampled(2, 0.3), sampled(3, 0.1)]
    allowance = Allowance(everyone, 100_000, 25_000)
    assert [allowance.dear(each) for each in everyone] == [False, False, True, False]


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


def test_under_a_time_limit_none_is_trained_in_full_for_want_of_allowance():
    env = SamplesEnvironment(SimulatedLearners([0.8] * 5, 40_000, 10_000, seed=0))
    events = list(play("abc", tight(epsilon=0.0, time_limit=40.0), env, seed=0))
    assert max(probe.rows for probe in of(events, ProbeFinished)) < 40_000


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


def test_ties_are_not_parted_by_samples_that_are_too_small():
    leader, tie = seen(0, 800, lower=0.7), seen(1, 800)
    assert needed(tie, leader, tie) == []
    assert needed(tie, leader, tie, epsilon=0.06) == SIZES


def test_the_leader_is_probed_only_to_drop_one_that_can_be_dropped():
    leader, unknown = seen(0, 900, lower=0.8), seen(1, 500)
    assert needed(leader, leader, unknown, epsilon=0.05) == []
    unknown.upper = 0.81
    assert needed(leader, leader, unknown, epsilon=0.05) == [1000]
