import numpy as np
import pytest
from scipy import stats

from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import Pair, cliques, compare_all, friedman, holm, nemenyi
from leaseboard.tasks.score.table import score_table


def test_friedman_on_the_ranks_of_demsar_table_6():
    """Demsar 2006, section 3.2.2: AdaBoost variants on 14 sets; chi-square is 9.28, p < 0.05."""
    ranks = np.array([
        [4, 1, 2, 4, 4, 2.5, 4, 4, 2, 4, 2, 2.5, 4, 4],
        [3, 4, 1, 3, 1, 2.5, 2, 2, 4, 1, 4, 2.5, 2, 1],
        [2, 2, 3, 1, 3, 2.5, 3, 3, 1, 2, 3, 2.5, 3, 3],
        [1, 3, 4, 2, 2, 2.5, 1, 1, 3, 3, 1, 2.5, 1, 2],
    ])  # fmt: skip
    assert friedman(ranks) == pytest.approx(stats.friedmanchisquare(*ranks).pvalue)
    assert friedman(np.full((3, 4), 2.0)) == 1.0


def test_nemenyi_of_demsar():
    assert nemenyi(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3)


def test_holm_is_monotone_and_capped():
    assert holm([0.5, 0.001, 0.4]) == pytest.approx([0.8, 0.003, 0.8])
    assert holm([]) == []


def board(make_frame, n, gap):
    random = np.random.default_rng(0)
    base = random.normal(10, 1, n)
    scores = {}
    for p in range(n):
        scores["good", f"d{p}"] = [base[p]]
        scores["same", f"d{p}"] = [base[p] + random.choice([-0.1, 0.1])]
        scores["bad", f"d{p}"] = [base[p] + gap + random.uniform(0, 0.1)]
    return score_table(as_frame(make_frame(scores)))


def test_a_clear_difference_is_found_and_equals_are_grouped(make_frame):
    found = compare_all(board(make_frame, 12, 2.0))
    assert found.n == 12
    assert found.friedman_p < 0.01
    assert set(found.groups[0]) == {"good", "same"}
    assert len(found.groups) == 1
    different = {frozenset((p.first, p.second)) for p in found.pairs if p.different}
    assert different == {frozenset(("good", "bad")), frozenset(("same", "bad"))}
    assert found.note == ""


def test_wilcoxon_agrees_with_scipy(make_frame):
    table = board(make_frame, 12, 2.0)
    found = compare_all(table)
    raw = stats.wilcoxon(table.means[0] - table.means[2]).pvalue
    p = next(x.p for x in found.pairs if {x.first, x.second} == {"good", "bad"})
    assert p == pytest.approx(3 * raw)


def test_few_data_sets_are_said_to_be_too_few(make_frame):
    found = compare_all(board(make_frame, 3, 2.0))
    assert "over 3 data sets cannot show a difference" in found.note
    assert not any(pair.different for pair in found.pairs)
    assert found.groups == (found.labels,)


def test_enough_by_the_note_is_enough(make_frame):
    """The note's number of data sets is the least with which the test can be positive."""
    assert "with 7 data sets they could" in compare_all(board(make_frame, 6, 2.0)).note
    assert compare_all(board(make_frame, 7, 2.0)).note == ""


def test_an_algorithm_with_holes_is_excluded_by_name(make_frame):
    frame = make_frame(
        {("a", "x"): [1.0], ("b", "x"): [2.0], ("c", "x"): ["skipped"],
         ("a", "y"): [1.0], ("b", "y"): [2.0], ("c", "y"): [1.0]}
    )  # fmt: skip
    found = compare_all(score_table(as_frame(frame)))
    assert found.excluded == ("c",)
    assert found.n == 2
    assert np.isnan(found.friedman_p)


def test_an_algorithm_that_always_fails_is_compared_as_the_worst(make_frame):
    scores = {("a", f"d{p}"): [1.0 + p] for p in range(7)}
    scores |= {("b", f"d{p}"): ["crash"] for p in range(7)}
    found = compare_all(score_table(as_frame(make_frame(scores))))
    assert found.labels == ("a", "b")
    assert found.pairs[0].different


def test_equal_algorithms_do_not_differ(make_frame):
    scores = {(label, f"d{p}"): [1.0 + p] for p in range(8) for label in "abc"}
    found = compare_all(score_table(as_frame(make_frame(scores))))
    assert found.friedman_p == 1.0
    assert all(pair.p == 1.0 for pair in found.pairs)


def test_nothing_to_compare(make_frame):
    found = compare_all(score_table(as_frame(make_frame({("a", "x"): ["crash"]}))))
    assert found.n == 0
    assert "Nothing to compare" in found.note


def test_cliques_are_maximal_runs():
    pairs = (
        Pair("a", "b", 0.9, 9, False), Pair("a", "c", 0.01, 9, True),
        Pair("b", "c", 0.9, 9, False), Pair("a", "d", 0.01, 9, True),
        Pair("b", "d", 0.01, 9, True), Pair("c", "d", 0.01, 9, True),
    )  # fmt: skip
    assert cliques(("a", "b", "c", "d"), pairs) == (("a", "b"), ("b", "c"))
