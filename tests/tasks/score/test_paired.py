"""One comparison, by hand, and in both its users: they cannot tell two stories."""

import dataclasses

import numpy as np
import pytest

from tasks.jobs.job import Result
from tasks.score.bootstrap import Interval
from tasks.score.compare import compare
from tasks.score.frame import as_frame, to_frame
from tasks.score.gate.baseline import accept
from tasks.score.gate.verdict import gate
from tasks.score.paired import paired, paired_ratio

OLD = np.array([2.0, 4.0, 6.0])


def test_the_gain_is_the_mean_over_pairs_of_what_is_better_over_the_old_mean():
    found = paired(OLD, np.array([1.0, 4.0, 4.0]), "min")

    assert (found.old, found.new, found.scale, found.n) == (4.0, 3.0, 4.0, 3)
    assert found.gain.value == pytest.approx(0.25)  # (1 + 0 + 2) / 3 / 4
    assert found.gain.lower == 0.0  # a sample of the second pair alone
    assert found.gain.upper == pytest.approx(0.5)  # of the third
    assert not found.gain.excludes_zero
    assert not found.same


def test_the_direction_turns_the_sign_and_nothing_else():
    new = np.array([1.0, 3.0, 5.5])
    less, more = paired(OLD, new, "min"), paired(OLD, new, "max")

    assert less.gain.value == -more.gain.value > 0
    assert less.gain.excludes_zero
    assert more.gain.excludes_zero


@pytest.mark.parametrize(("relative", "same"), [(0.0, True), (0.9e-9, True), (1.1e-9, False)])
def test_what_rounding_explains_is_the_same(relative, same):
    assert paired(OLD, OLD + np.array([0, 0, relative * 4.0]), "min").same is same


def test_around_zero_the_scale_is_one():
    assert paired(np.zeros(2), np.array([0.5, 0.5]), "max").gain == Interval(0.5, 0.5, 0.5)


def test_a_ratio_is_a_geometric_mean():
    found = paired_ratio(np.array([1.0, 1.0]), np.array([2.0, 8.0]))

    assert (found.value, found.lower, found.upper) == pytest.approx((4.0, 2.0, 8.0))


def test_times_keeps_the_ends_in_order():
    assert Interval(1.0, 0.5, 2.0).times(-2) == Interval(-2.0, -4.0, -1.0)


def rows(scores):
    made = [
        Result(key=f"k{i}", algorithm="a", label="a", data="d", digest="s", seed=i,
               environment_seed=0, repetition=i, status="ok", score=score, metric="mse")
        for i, score in enumerate(scores)
    ]  # fmt: skip
    return as_frame(to_frame(made))


@pytest.mark.parametrize("factor", [0.9, 1.0, 1 + 1e-12, 1.1])
@pytest.mark.parametrize("direction", ["min", "max"])
def test_the_gate_and_compare_say_the_same_of_the_same_scores(factor, direction):
    first, second = rows(OLD), rows(OLD * factor)
    for frame in (first, second):
        frame["direction"] = direction
    (check,) = gate(second, accept(first, "s", date="", versions={})).checks
    (difference,) = compare(first, second).differences

    assert (check.accepted, check.measured) == (difference.first, difference.second)
    assert dataclasses.astuple(check.drop) == pytest.approx(
        dataclasses.astuple(difference.change.times(-1))
    )
    told = {"same": "same", "regressed": "worse", "improved": "better"}
    assert told[check.verdict] == difference.verdict
