"""What a board says: whether the best beats the baselines, and what the test says."""

import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score import board
from leaseboard.tasks.score.compared import NAMED, compared, standard_errors, verdict
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import leaderboard
from leaseboard.tasks.score.table import score_table


@pytest.fixture
def told(make_frame):
    def said(scores, baselines=("mean", "ridge"), names=None):
        frame = make_frame(scores)
        frame["baseline"] = frame["label"].isin(baselines)
        return verdict(leaderboard(as_frame(frame)), names)

    return said


def sets(n, **scores):
    return {(label, f"d{i}"): [value] for label, value in scores.items() for i in range(n)}


def test_a_winner_that_beats_them_everywhere(told):
    scores = sets(3, mean=3.0, ridge=2.0, chacha=1.0, other=2.5)
    assert told(scores) == "chacha beats every baseline (ridge, mean) on all 3 data sets."
    assert (
        told(sets(1, mean=3.0, chacha=1.0)) == "chacha beats every baseline (mean) on 1 data set."
    )


def test_only_baselines_that_ran_are_named(told):
    scores = sets(2, mean=3.0, ridge="skipped", chacha=1.0)
    assert told(scores) == "chacha beats every baseline (mean) on all 2 data sets."


def test_where_it_does_not_the_baseline_and_both_scores_are_named(told):
    scores = sets(3, mean=3.0, ridge=2.0, chacha=1.0) | {("chacha", "d1"): [4.0]}
    assert told(scores, names={"d1": "bike"}) == (
        "chacha does not beat every baseline on 1 of 3 data sets: bike (ridge 2, chacha 4)."
    )


def test_a_tie_beats_nothing(told):
    assert "does not beat" in told(sets(1, mean=2.0, chacha=2.0))


def test_many_are_counted(told):
    text = told(sets(NAMED + 2, mean=1.0, chacha=2.0))
    assert text.count("(mean 1, chacha 2)") == NAMED
    assert text.endswith(" and 2 more.")


def test_a_baseline_that_ranks_first_is_not_the_winner_that_is_asked_about(told):
    text = told(sets(2, mean=1.0, chacha=2.0, other=3.0))
    assert text.startswith("chacha does not beat every baseline on 2 of 2 data sets: d0 (mean")


@pytest.mark.parametrize(
    "scores",
    [
        sets(2, chacha=1.0, other=2.0),
        sets(2, mean=1.0, ridge=2.0),
        sets(2, mean="crash", chacha=1.0),
        sets(2, mean=1.0, chacha="skipped"),
        {("mean", "x"): [1.0], ("chacha", "y"): [1.0]},
    ],
)
def test_where_nothing_can_be_compared_nothing_is_said(told, scores):
    assert told(scores) == ""


def test_a_winner_that_failed_there_has_not_beaten_it(told):
    scores = sets(2, mean=3.0, chacha=1.0) | {("chacha", "d1"): ["crash"]}
    assert "does not beat every baseline on 1 of 2 data sets: d1 (mean 3, chacha –)" in told(
        scores
    )


def test_hindsight_is_no_competitor(make_frame):
    frame = make_frame(sets(1, mean=2.0, oracle=1.0, chacha=3.0))
    frame["baseline"], frame["hindsight"] = frame["label"] == "mean", frame["label"] == "oracle"
    assert verdict(leaderboard(as_frame(frame))).startswith("chacha does not beat")


def test_the_board_says_it_by_the_suite_s_names(make_frame):
    suite = Suite(title="t", data=[{"data": "synthetic:fried", "name": "fried"}],
                  algorithms=["chacha", "running-mean"])  # fmt: skip
    frame = make_frame({("chacha", "synthetic:fried"): [2.0],
                        ("running-mean", "synthetic:fried"): [1.0]})  # fmt: skip
    frame["baseline"] = frame["label"] == "running-mean"
    found = compared(pd.DataFrame(frame), suite)
    assert "fried (running-mean 1, chacha 2)" in " ".join(found.answer.lines())


def test_who_is_a_baseline():
    found = [name for name in registry.names() if registry.algorithm_class(name).baseline]
    streams = ["running-mean", "last-label", "seasonal-last", "online-ridge"]
    assert found == [*streams, "lightgbm-default", "forest-default"]


def test_a_board_says_which_baseline_is_on_selected_features(make_frame):
    narrow = {("chacha", "x"): [1.0], ("online-ridge", "x"): [2.0]}
    wide = {("chacha", "y"): [1.0], ("online-ridge", "y"): [2.0]}
    frame = pd.concat([make_frame(narrow), make_frame(wide, metrics={"selected_features": 64.0})])
    frame["baseline"] = frame["label"] == "online-ridge"
    said = compared(frame).answer.first_tries
    assert said.endswith("On y one of the baselines is online-ridge on selected features.")
    assert said.count("selected features") == 1


@pytest.fixture
def policies(make_frame):
    """A frame from ``{(label, data): [(validation, test), one a repetition]}``."""

    def make(cells, **fields):
        scores = {which: [one for one, _ in runs] for which, runs in cells.items()}
        given = {"bench": "pulls", "direction": "max", "metric": "validation_accuracy"} | fields
        frame = make_frame(scores, **given)
        tests = [test for runs in cells.values() for _, test in runs]
        frame["metrics"] = [{} if test is None else {"test": test} for test in tests]
        return frame

    return make


TURNED = {
    ("a", "x"): [(0.95, 0.80), (0.95, 0.82)], ("a", "y"): [(0.95, 0.80), (0.95, 0.82)],
    ("b", "x"): [(0.90, 0.83), (0.90, 0.81)], ("b", "y"): [(0.90, 0.83), (0.90, 0.81)],
    ("c", "x"): [(0.85, 0.90), (0.85, 0.93)], ("c", "y"): [(0.85, 0.90), (0.85, 0.93)],
}  # fmt: skip


def test_ranks_of_both_stand_on_the_board_and_a_sentence_says_where_they_disagree(policies):
    found = compared(policies(TURNED))

    assert found.tested.ranks == {"a": 3.0, "b": 2.0, "c": 1.0}
    assert found.answer.on_test == (
        "Validation and test disagree: a is 1st by validation and 3rd of 3 by test, where c is"
        " 1st; c is ahead by more than two standard errors."
    )
    lines = board.plain(found).splitlines()
    assert lines[1].split()[:5] == ["#", "algorithm", "rank", "test", "rank"]
    assert lines[2].split()[:4] == ["1", "a", "1.00", "3.00"]
    assert "Test: the same of the test score, which no algorithm saw." in " ".join(
        board.plain(found).split()
    )


def test_differences_within_two_standard_errors_are_said_to_be(policies):
    found = compared(policies({which: runs for which, runs in TURNED.items() if which[0] != "c"}))

    assert found.answer.on_test.endswith(
        "a is 1st by validation and 2nd of 2 by test, where b is 1st; the differences on test are"
        " within two standard errors."
    )


def test_on_one_data_set_both_scores_stand_and_nothing_is_ranked(policies):
    found = compared(policies({which: runs for which, runs in TURNED.items() if which[1] == "x"}))

    assert found.tested.ranks == {}
    assert found.tested.scores == pytest.approx({"a": 0.81, "b": 0.82, "c": 0.915})
    assert found.answer.on_test.startswith(
        "Validation and test disagree: a has the best validation score, and 2 of 2 others have a"
        " better test score, c the best;"
    )
    assert board.plain(found).splitlines()[2].split()[:2] == ["a", "0.95"]


def test_where_the_first_is_first_by_test_too_that_is_said(policies):
    cells = {("a", "x"): [(0.9, 0.9)], ("b", "x"): [(0.8, 0.8)]}

    assert compared(policies(cells)).answer.on_test == "a has the best test score too."
    more = cells | {(label, "y"): runs for (label, _), runs in cells.items()}
    assert compared(policies(more)).answer.on_test == "a is 1st by test too."
    tied = {("a", "x"): [(0.9, 0.7)], ("b", "x"): [(0.9, 0.8)], ("c", "x"): [(0.8, 0.75)]}
    assert compared(policies(tied)).answer.on_test == "b has the best test score too."


def test_a_single_run_each_has_no_standard_error(policies):
    cells = {("a", "x"): [(0.9, 0.7)], ("b", "x"): [(0.8, 0.8)]}

    assert compared(policies(cells)).answer.on_test.endswith(
        "one run each has no standard error to judge by."
    )


def test_what_has_no_test_score_has_no_test_column(policies):
    untested = policies({("a", "x"): [(0.9, None)], ("b", "x"): [(0.8, None)]})
    assert compared(untested).tested is None
    assert compared(policies(TURNED, bench="samples")).tested is None
    part = compared(policies({("a", "x"): [(0.9, None)], ("b", "x"): [(0.8, 0.7)]}))
    assert (part.tested.scores, part.answer.on_test) == ({"b": 0.7}, "")


def test_a_failed_job_counts_as_the_worst_by_test_too(policies):
    frame = policies({**TURNED, ("d", "x"): [("crash", None), ("crash", None)]})

    assert compared(frame).tested.ranks["d"] == 4


def test_standard_errors_by_hand(policies):
    table = score_table(as_frame(policies(TURNED)), "test")

    # b - a: .03, -.01, .03, -.01: mean .01, sd .0230940, error .0115470
    assert standard_errors(table, "b", "a") == pytest.approx(0.866025, abs=1e-5)
