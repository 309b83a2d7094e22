"""One comparison, by hand, and in both its users: they cannot tell two stories."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.compare import compare
from leaseboard.tasks.score.frame import as_frame, to_frame
from leaseboard.tasks.score.gate.baseline import accept
from leaseboard.tasks.score.gate.verdict import gate
from leaseboard.tasks.score.inference import Interval, chance_of, paired, paired_ratio

OLD = np.array([2.0, 4.0, 6.0])


def test_the_gain_is_the_mean_over_pairs_of_what_is_better_over_the_old_mean():
    found = paired(OLD, np.array([1.0, 4.0, 4.0]), "min")

    assert (found.old, found.new, found.scale, found.n) == (4.0, 3.0, 4.0, 3)
    assert found.gain.value == pytest.approx(0.25)  # (1 + 0 + 2) / 3 / 4
    # Student's t of two degrees of freedom is 4.303; the deviation of 1/4, 0, 1/2 is 1/4.
    half = 4.302653 * 0.25 / np.sqrt(3)
    assert (found.gain.lower, found.gain.upper) == pytest.approx((0.25 - half, 0.25 + half))
    assert not found.same
    assert (found.chance_of_gain, found.chance_of_drop) == (0.25, 1.0)  # of two pairs that moved


def test_the_direction_turns_the_sign_and_nothing_else():
    new = np.array([1.0, 3.0, 5.5])
    less, more = paired(OLD, new, "min"), paired(OLD, new, "max")

    assert less.gain.value == -more.gain.value > 0
    assert less.chance_of_gain == more.chance_of_drop == 0.125
    assert less.verdict(0.05) == more.verdict(0.05) == "unclear"


@pytest.mark.parametrize(("relative", "same"), [(0.0, True), (0.9e-9, True), (1.1e-9, False)])
def test_what_rounding_explains_is_the_same(relative, same):
    assert paired(OLD, OLD + np.array([0, 0, relative * 4.0]), "min").same is same


def test_around_zero_the_scale_is_one():
    assert paired(np.zeros(2), np.array([0.5, 0.5]), "max").gain == Interval(0.5, 0.5, 0.5)


def test_a_ratio_is_a_geometric_mean():
    found = paired_ratio(np.array([1.0, 1.0]), np.array([2.0, 8.0]))

    assert found.value == pytest.approx(4.0)
    assert found.lower * found.upper == pytest.approx(16.0)


def test_times_keeps_the_ends_in_order():
    assert Interval(1.0, 0.5, 2.0).times(-2) == Interval(-2.0, -4.0, -1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_the_chance_is_that_of_all_choices_of_signs(n):
    rng = np.random.default_rng(n)
    for differences in (rng.normal(size=n), rng.integers(-2, 3, size=n).astype(float)):
        moved = differences[differences != 0]
        ranks = rankdata(np.abs(moved))
        observed = ranks[moved > 0].sum()
        signs = itertools.product((0, 1), repeat=len(moved))
        share = np.mean([np.dot(ranks, each) >= observed for each in signs])
        assert chance_of(differences) == pytest.approx(share)


@pytest.mark.parametrize("n", [12, 24])
def test_the_chance_equals_scipys_where_there_are_no_ties(n):
    differences = np.random.default_rng(n).normal(0.2, size=n)
    theirs = wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert chance_of(differences) == pytest.approx(theirs)


def test_few_pairs_never_decide():
    for n in range(1, 6):
        assert paired(np.linspace(1, 2, n), np.linspace(3, 5, n), "min").verdict(0.05) == "unclear"
    assert paired(np.linspace(1, 2, 6), np.linspace(3, 5, 6), "min").verdict(0.05) == "worse"


def rows(scores):
    made = [
        Result(key=f"k{i}", algorithm="a", label="a", data="d", digest="s", seed=i,
               environment_seed=0, repetition=i, status="ok", score=score, metric="mse")
        for i, score in enumerate(scores)
    ]  # fmt: skip
    return as_frame(to_frame(made))


OLD_12 = np.linspace(2.0, 6.0, 12)


@pytest.mark.parametrize("factor", [0.9, 1.0, 1 + 1e-12, 1.1])
@pytest.mark.parametrize("direction", ["min", "max"])
def test_the_gate_and_compare_say_the_same_of_the_same_scores(factor, direction):
    first, second = rows(OLD_12), rows(OLD_12 * factor)
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
