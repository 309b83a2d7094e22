import pytest

from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import compare_all
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, leaderboard
from leaseboard.tasks.score.summary import fixed, short, summarise


def answer(make_frame, scores, *scale, **fields):
    board = leaderboard(as_frame(make_frame(scores, **fields)), *scale)
    return summarise(board, compare_all(board.table))


def many(n, gap=1.0):
    scores = {("slow", f"d{i}"): [10.0 + i + gap + 0.01 * i] * 2 for i in range(n)}
    return scores | {("fast", f"d{i}"): [10.0 + i] * 2 for i in range(n)}


def test_every_question_has_its_answer(make_frame):
    found = answer(make_frame, many(8))
    assert found.best == "fast ranks first: mean rank 1.00 among 2 algorithms on 8 data sets."
    assert found.by_how_much == (
        "Its scaled score is 1.000 [1.000, 1.000], 1.000 ahead of slow, the next by rank."
    )
    assert "it excludes zero" in found.how_sure
    assert "fast and slow differ (Wilcoxon-Holm, p = 0.0078)" in found.how_sure
    assert found.cost == "fast took 1 CPU s a job, the cheapest of all."
    assert found.missing == "All 32 jobs finished."


def test_what_the_number_says_stands_beside_it(make_frame):
    scaled = answer(make_frame, many(8))
    said = list(scaled.lines())

    assert scaled.meaning.startswith("A scaled score is the place between the worst algorithm")
    assert said.index(scaled.meaning) == said.index(scaled.by_how_much) + 1
    normalised = answer(make_frame, many(8), "slow", "fast").meaning
    assert "from what slow reaches (0) to what fast reaches (1)" in normalised
    assert answer(make_frame, many(1)).meaning == ""  # a mean score says it itself


def test_a_shared_first_place_is_shared(make_frame):
    found = answer(make_frame, many(8, gap=0.0) | {("fast", "d0"): [10.0, 10.0]})
    assert "fast" in found.best
    tied = answer(make_frame, {(label, data): [1.0] for label in "ab" for data in "xy"})
    assert (
        tied.best
        == "a and b share the first place: mean rank 1.50 among 2 algorithms on 2 data sets."
    )
    assert tied.by_how_much.startswith("a's scaled score is 1.000")
    assert "level with b" in tied.by_how_much
    assert "Nothing separates a and b" in tied.how_sure


def test_one_that_never_finished_is_not_level_with_the_only_one_that_did(make_frame):
    scores = {("a", data): [1.0, 1.2] for data in "xy"}
    found = answer(make_frame, scores | {("bad", data): ["crash", "crash"] for data in "xy"})
    assert "1.000 ahead of bad" in found.by_how_much
    assert "Nothing separates" not in found.how_sure


def test_the_first_by_rank_may_be_behind_by_score(make_frame):
    scores = {("a", "x"): [1.0], ("b", "x"): [1.1], ("a", "y"): [1.0], ("b", "y"): [1.1],
              ("a", "z"): [9.0], ("b", "z"): [1.0], ("zero", "x"): [2.0], ("zero", "y"): [2.0],
              ("zero", "z"): [10.0], ("one", "x"): [1.9], ("one", "y"): [1.9],
              ("one", "z"): [9.9]}  # fmt: skip
    found = answer(make_frame, scores, "zero", "one")
    assert "behind b, the next by rank" in found.by_how_much


def test_missing_jobs_are_counted_by_kind(make_frame):
    scores = {("a", "x"): [1.0, "crash"], ("b", "x"): [1.0, "skipped"], ("c", "x"): [2.0]}
    found = answer(make_frame, scores)
    assert found.missing == "3 of 6 jobs finished (1 failed, 1 skipped, 1 not run)."


def test_a_single_data_set_tells_its_raw_score_and_claims_no_rank(make_frame):
    found = answer(make_frame, {("a", "x"): [1.0, 1.2], ("b", "x"): [2.0, 2.2]})
    assert found.best == ONE_SET_RULE
    assert found.by_how_much == "a has the best mean score, 1.1 [1, 1.2]; b has 2.1."
    assert found.how_sure.startswith("Repetitions exclude that a and b are level here")
    assert not any("rank" in line or "p =" in line for line in found.lines()[1:])


def test_a_data_set_that_alone_was_run_claims_no_rank_either(make_frame):
    """As where the other is not downloaded: neither its skips nor its crashes are results."""
    one = {("a", "x"): [1.0, 1.2], ("b", "x"): [2.0, 2.2]}
    for lost in ("skipped", "crash"):
        other = {(label, data): [lost, lost] for label in "ab" for data in ("w", "y")}
        found = answer(make_frame, other | one)
        assert found.best == ONE_SET_RULE
        assert found.by_how_much == "a has the best mean score, 1.1 [1, 1.2]; b has 2.1."
        assert found.meaning == ""


def test_a_single_data_set_tells_what_is_equal_and_what_ran_once(make_frame):
    found = answer(make_frame, {("a", "x"): [1.0], ("b", "x"): [1.0], ("c", "x"): [2.0]})
    assert found.by_how_much == "a and b share the best mean score, 1; c has 2."
    assert found.how_sure == "A single repetition has no interval: it cannot say how sure that is."
    alone = answer(make_frame, {("a", "x"): [1.0, 2.0], ("bad", "x"): ["crash", "crash"]})
    assert (alone.by_how_much, alone.how_sure) == ("a has the best mean score, 1.5 [1, 2].", "")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.000123456, "0.0001235"), (123456.7, "123457"), (1.5e12, "1.5e+12"), (-0.5, "−0.5"),
     (float("nan"), "–"), (0.0, "0"), (9.9996, "10")],
)  # fmt: skip
def test_short(value, shown):
    assert short(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-2e-16, "0.000"), (0.35449, "0.354"), (-43.8149, "−43.815"), (12345.6, "12346"),
     (float("inf"), "–")],
)  # fmt: skip
def test_fixed(value, shown):
    assert fixed(value) == shown


def test_datasets_that_were_not_used_whole_are_named(make_frame):
    rows = [10, 20, 9, 40]
    frame = make_frame({("a", "x"): [1.0, 2.0], ("a", "y"): [1.0], ("a", "z"): [1.0]})
    frame["rows"], frame["rows_available"] = rows, [30, 30, 9, None]
    found = compared(frame, Suite(title="t", data=[{"data": "x", "name": "ex"}], algorithms=["a"]))
    assert found.answer.missing.endswith(
        "Rows used: ex: 10 to 20 of 30; z: 40, and the source may have more."
    )
