"""Intervals and tests: means over datasets, pairs of seeds, and tests over datasets."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.stats import rankdata

from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import (
    ALPHA,
    FEWEST,
    mean_interval,
    p_value,
    paired,
    pairwise,
    wilcoxon,
)
from leaseboard.tasks.score.leaderboard import score_table

EFFECTS = {
    "normal": (lambda random, n: random.normal(1.0, 1.0, n), 1.0),
    "tailed": (lambda random, n: random.standard_t(3, n), 0.0),
    "lognormal": (lambda random, n: random.lognormal(size=n), np.exp(0.5)),
    "ranks": (lambda random, n: random.choice([1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0], n), 15 / 7),
    "wins": (lambda random, n: np.rint(random.random(n) * 0.6 + 0.4), 5 / 6),
}
"""Distributions of the mean score of a dataset, each with its mean."""


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_interval_holds_the_mean_over_datasets_or_is_not_given(effect):
    draw, mean = EFFECTS[effect]
    random = np.random.default_rng(0)
    for n in (2, FEWEST, 20):
        found = [mean_interval(draw(random, n)) for _ in range(4000 if n >= FEWEST else 50)]
        given = [each for each in found if np.isfinite([each.lower, each.upper]).any()]
        if n < FEWEST:
            assert not given
        else:  # with less than a standard error and a half of slack
            assert np.mean([each.lower <= mean <= each.upper for each in given]) >= 0.925, n


def test_copies_missing_and_infinite_values_have_no_interval():
    for values in ([0.1 + 0.2] * 5 + [0.3] * 5, [*range(7), *[np.nan] * 9], [np.inf, *range(9)]):
        found = mean_interval(np.array(values, dtype=float))
        assert np.isnan([found.lower, found.upper]).all()
    assert np.isnan(mean_interval(np.full(9, np.nan)).value)


OLD = np.array([2.0, 4.0, 6.0])


def test_the_gain_is_the_mean_over_pairs_of_what_is_better_over_the_old_mean():
    found = paired(OLD, np.array([1.0, 4.0, 4.0]), "min")

    assert (found.old, found.new, found.n) == (4.0, 3.0, 3)
    assert found.drop.value == pytest.approx(-0.25)  # (1 + 0 + 2) / 3 / 4
    assert np.isnan(found.drop.lower)  # of three pairs
    # Student's t of eight degrees of freedom is 2.306; the deviation of 0 to 8 is 2.739.
    half = 2.306004 * 2.738613 / 3
    drop = paired(np.ones(9), np.arange(1.0, 10.0), "min").drop
    assert (drop.lower, drop.upper) == pytest.approx((4 - half, 4 + half))
    assert not found.same
    assert (found.p_value_of_gain, found.p_value_of_drop) == (0.25, 1.0)  # of two pairs that moved


def test_the_chance_is_that_of_all_choices_of_signs_and_scipys_without_ties():
    for n in (1, 2, 3, 7, 10):
        rng = np.random.default_rng(n)
        for differences in (rng.normal(size=n), rng.integers(-2, 3, size=n).astype(float)):
            moved = differences[differences != 0]
            ranks = rankdata(np.abs(moved))
            observed = ranks[moved > 0].sum()
            signs = itertools.product((0, 1), repeat=len(moved))
            share = np.mean([np.dot(ranks, each) >= observed for each in signs])
            assert p_value(differences) == pytest.approx(share)
    for n in (12, 24):
        differences = np.random.default_rng(n).normal(0.2, size=n)
        theirs = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
        assert p_value(differences) == pytest.approx(theirs)


def pairs_of(make_frame, scores):
    return pairwise(score_table(as_frame(make_frame(scores))))


def test_a_clear_difference_is_found_and_equals_do_not_differ(make_frame):
    random, scores = np.random.default_rng(0), {}
    for p, base in enumerate(random.normal(10, 1, 12)):
        scores["good", f"d{p}"] = [base]
        scores["same", f"d{p}"] = [base + random.choice([-0.1, 0.1])]
        scores["bad", f"d{p}"] = [base + 2.0 + random.uniform(0, 0.1)]
        scores["good again", f"d{p}"] = [base]
    found, n = pairs_of(make_frame, scores)
    assert n == 12
    worse = {names for names, p in found.items() if p <= ALPHA}
    assert worse == {frozenset((name, "bad")) for name in ("good", "same", "good again")}
    assert found[frozenset(("good", "good again"))] == 1.0
    gaps = [scores["good", f"d{p}"][0] - scores["bad", f"d{p}"][0] for p in range(12)]
    raw = stats.wilcoxon(gaps).pvalue
    assert found[frozenset(("good", "bad"))] == pytest.approx(6 * raw)


def test_pairs_are_tested_over_all_choices_of_signs_with_ties_and_total_failures():
    first = np.array([1.0, 2.0, -np.inf, 4.0, 6.0, 5.0, 7.0])
    second = np.array([2.0, 1.0, 3.0, 7.0, 9.0, 5.0, 8.0])
    ranks = np.array([2.0, 2.0, 6.0, 4.5, 4.5, 2.0])  # of the pairs that differ
    found = abs(np.dot(ranks, [-1, 1, -1, -1, -1, -1]))
    sums = [abs(np.dot(ranks, signs)) for signs in itertools.product((-1, 1), repeat=6)]
    assert wilcoxon(first, second) == np.mean(np.array(sums) >= found)


def test_who_was_skipped_somewhere_takes_no_part_and_who_failed_is_the_worst(make_frame):
    scores = {("a", f"d{p}"): [1.0 + p] for p in range(7)}
    scores |= {("b", f"d{p}"): ["crash"] for p in range(7)} | {("c", "d0"): [1.0]}
    found, n = pairs_of(make_frame, scores)
    assert n == 7
    assert found[frozenset("ab")] <= ALPHA
    assert found.keys() == {frozenset("ab")}
    assert pairs_of(make_frame, {("a", "x"): ["crash"]}) == ({}, 0)
