import pytest

from leaseboard.tasks.score import board
from leaseboard.tasks.score.compared import compared, standard_errors
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.table import score_table


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
