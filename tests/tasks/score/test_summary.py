"""The words of a leaderboard: the best, baselines, the test, how sure, what is missing."""

from types import SimpleNamespace

import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score import board
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, leaderboard
from leaseboard.tasks.score.summary import NAMED, compared, verdict
from tests.tasks.score.conftest import frame_of


def answer(scores, *scale, **fields):
    frame = as_frame(frame_of(scores, **fields)).assign(metric="score")
    suite = Suite(title="t", data=["x"], algorithms=["vanilla"])
    if scale:
        suite = suite.model_copy(
            update={"normalise": SimpleNamespace(zero=scale[0], one=scale[1])}
        )
    return compared(frame, suite).answer


def many(n, gap=1.0):
    scores = {("slow", f"d{i}"): [10.0 + i + gap + 0.01 * i] * 2 for i in range(n)}
    return scores | {("fast", f"d{i}"): [10.0 + i] * 2 for i in range(n)}


def test_every_question_has_its_answer():
    found = answer(many(8))
    assert found.best == "fast ranks first: mean rank 1.00 among 2 algorithms on 8 datasets."
    assert found.by_how_much == (
        "Its scaled score is 1.000, 1.000 ahead of slow, the next by rank."
    )
    assert "fast and slow differ (Wilcoxon-Holm, p = 0.0078)" in found.how_sure
    assert found.cost == "fast took 1 CPU s a job, the cheapest of all."
    assert found.missing.startswith("All 32 jobs finished.")
    lines = list(found.lines())
    assert lines.index(found.meaning) == lines.index(found.by_how_much) + 1
    normalised = answer(many(8), "slow", "fast").meaning
    assert "from what slow reaches (0) to what fast reaches (1)" in normalised


def test_a_shared_first_place_is_shared():
    tied = answer({(label, data): [1.0] for label in "ab" for data in "xy"})
    assert tied.best.startswith("a and b share the first place: mean rank 1.50")
    assert tied.by_how_much.startswith("a's scaled score is 1.000")
    assert "level with b" in tied.by_how_much
    assert "Nothing separates a and b" in tied.how_sure


def test_the_second_may_be_far_behind_or_ahead_by_score():
    scores = {("a", data): [1.0, 1.2] for data in "xy"}
    found = answer(scores | {("bad", data): ["crash", "crash"] for data in "xy"})
    assert "1.000 ahead of bad" in found.by_how_much
    assert "Nothing separates" not in found.how_sure
    by_label = {"a": (1.0, 1.0, 9.0), "b": (1.1, 1.1, 1.0), "zero": (2.0, 2.0, 10.0),
                "one": (1.9, 1.9, 9.9)}  # fmt: skip
    scores = {(label, data): [score] for label, cells in by_label.items()
              for data, score in zip("xyz", cells, strict=True)}  # fmt: skip
    assert "behind b, the next by rank" in answer(scores, "zero", "one").by_how_much


def test_missing_jobs_and_rows_are_counted():
    scores = {("a", "x"): [1.0, "crash"], ("b", "x"): [1.0, "skipped"], ("c", "x"): [2.0]}
    assert answer(scores).missing == "3 of 6 jobs finished (1 failed, 1 skipped, 1 not done)."
    frame = frame_of({("a", "x"): [1.0, 2.0], ("a", "y"): [1.0], ("a", "z"): [1.0]})
    frame["rows"], frame["rows_available"] = [10, 20, 9, 40], [30, 30, 9, None]
    found = compared(frame, Suite(title="t", data=[{"data": "x", "name": "ex"}], algorithms=["a"]))
    assert found.answer.missing.endswith(
        "Rows used: ex: 10 to 20 of 30; z: 40, and the source may have more."
    )


def test_a_single_dataset_with_scores_claims_no_rank():
    """As where the others are not downloaded: neither their skips nor crashes are results."""
    one = {("a", "x"): [1.0, 1.2], ("b", "x"): [2.0, 2.3]}
    for lost in ((), ("skipped",), ("crash",)):
        other = {(label, data): [how, how] for how in lost for label in "ab" for data in "wy"}
        found = answer(other | one)
        assert found.best == "a has the best score, 1.1; b has 2.15."
        assert found.how_sure.startswith(
            "Repetitions do not exclude that a and b are equally good"
        )
        assert found.how_sure.endswith(ONE_SET_RULE)
        assert (found.meaning, found.by_how_much) == ("", "")
        others = " ".join(found.lines()).replace(ONE_SET_RULE, "")
        assert "rank" not in others
        assert "Wilcoxon" not in others
    found = answer({("a", "x"): [9.599] * 3, ("b", "x"): [9.599] * 3})
    assert found.best == "a and b share the best score, 9.599."
    assert found.how_sure.startswith("a and b have the same score in every repetition. ")
    found = answer({("a", "x"): [1.0], ("b", "x"): [1.0], ("c", "x"): [2.0]})
    assert found.best == "a and b share the best score, 1; c has 2."
    assert found.how_sure == f"a and b have the same score in every repetition. {ONE_SET_RULE}"
    alone = answer({("a", "x"): [1.0, 2.0], ("bad", "x"): ["crash", "crash"]})
    assert alone.best == "a has the best score, 1.5."
    assert alone.how_sure == ONE_SET_RULE


def beaten(scores, baselines=("mean", "ridge"), names=None):
    frame = as_frame(frame_of(scores))
    frame["baseline"] = frame["name"].isin(baselines)
    frame["oracle_baseline"] = frame["name"] == "oracle"
    return verdict(leaderboard(frame), names)


def sets(n, **scores):
    return {(label, f"d{i}"): [value] for label, value in scores.items() for i in range(n)}


def test_the_best_beats_the_baselines_that_ran_or_the_better_one_is_named():
    for scores, expected in (
        (sets(3, mean=3.0, ridge=2.0, chacha=1.0, other=2.5),
         "chacha beats every baseline (ridge, mean) on all 3 datasets."),
        (sets(1, mean=3.0, chacha=1.0), "chacha beats every baseline (mean) on 1 dataset."),
        (sets(2, mean=3.0, ridge="skipped", chacha=1.0),
         "chacha beats every baseline (mean) on all 2 datasets."),
        (sets(3, mean=3.0, ridge=2.0, chacha=1.0) | {("chacha", "d1"): [4.0]},
         "On 1 of 3 datasets a baseline is at least as good as chacha: bike (ridge 2, chacha 4)."),
        (sets(1, mean=2.0, chacha=2.0),  # a tie beats nothing
         "On 1 of 1 dataset a baseline is at least as good as chacha: d0 (mean 2, chacha 2)."),
        (sets(1, mean=1.0, chacha=2.0, oracle=0.5),
         "On 1 of 1 dataset a baseline is at least as good as chacha: d0 (mean 1, chacha 2)."),
        (sets(2, mean=3.0, chacha=1.0) | {("chacha", "d1"): ["crash"]},
         "On 1 of 2 datasets a baseline is at least as good as chacha: bike (mean 3, chacha –)."),
    ):  # fmt: skip
        assert beaten(scores, names={"d1": "bike"}) == expected
    text = beaten(sets(NAMED + 2, mean=1.0, chacha=2.0))
    assert text.count("(mean 1, chacha 2)") == NAMED
    assert text.endswith(" and 2 more.")


def test_where_nothing_can_be_compared_nothing_is_said():
    for scores in (
        sets(2, chacha=1.0, other=2.0),
        sets(2, mean=1.0, ridge=2.0),
        sets(2, mean="crash", chacha=1.0),
        sets(2, mean=1.0, chacha="skipped"),
        {("mean", "x"): [1.0], ("chacha", "y"): [1.0]},
    ):
        assert beaten(scores) == ""


def test_who_is_a_baseline():
    found = [name for name in registry.names() if registry.algorithm_class(name).baseline]
    streams = ["running-mean", "last-label", "seasonal-last", "online-ridge"]
    assert found == [*streams, "lightgbm-default", "forest-default"]


def test_a_leaderboard_names_the_baseline_on_selected_features_and_data_as_the_suite_does():
    narrow = {("chacha", "x"): [1.0], ("online-ridge", "x"): [2.0]}
    wide = {("chacha", "y"): [3.0], ("online-ridge", "y"): [2.0]}
    frame = pd.concat([frame_of(narrow), frame_of(wide, metrics={"selected_features": 64.0})])
    frame["baseline"] = frame["name"] == "online-ridge"
    suite = Suite(title="t", data=[{"data": "y", "name": "why"}], algorithms=["chacha"])
    said = compared(frame, suite).answer.baselines
    assert "why (online-ridge 2, chacha 3)" in said
    assert said.endswith("On why one of the baselines is online-ridge on selected features.")
    assert said.count("selected features") == 1


def policies(cells, **fields):
    """Return a frame from ``{(label, data): [(validation, test), one a repetition]}``."""
    scores = {which: [one for one, _ in runs] for which, runs in cells.items()}
    given = {"environment": "pulls", "direction": "max", "metric": "validation_accuracy"} | fields
    frame = frame_of(scores, **given)
    tests = [test for runs in cells.values() for _, test in runs]
    frame["metrics"] = [{} if test is None else {"test": test} for test in tests]
    return frame


TURNED = {(label, data): runs for data in "xy" for label, runs in {
    "a": [(0.95, 0.80), (0.95, 0.82)],
    "b": [(0.90, 0.83), (0.90, 0.81)],
    "c": [(0.85, 0.90), (0.85, 0.93)],
}.items()}  # fmt: skip


def test_ranks_by_test_are_on_the_leaderboard():
    found = compared(policies(TURNED))
    assert found.tested.ranks == {"a": 3.0, "b": 2.0, "c": 1.0}
    lines = board.plain(found).splitlines()
    assert lines[1].split()[:5] == ["#", "algorithm", "rank", "test", "rank"]
    assert lines[2].split()[:4] == ["1", "a", "1.00", "3.00"]
    assert board.TESTED in board.notes(found)[0]
    failed = policies({**TURNED, ("d", "x"): [("crash", None), ("crash", None)]})
    assert compared(failed).tested.ranks["d"] == 4


def test_on_one_dataset_both_scores_are_shown_and_nothing_is_ranked():
    found = compared(policies({which: runs for which, runs in TURNED.items() if which[1] == "x"}))
    assert found.tested.ranks == {}
    assert found.tested.scores == pytest.approx({"a": 0.81, "b": 0.82, "c": 0.915})


def test_what_has_no_test_score_has_no_test_column():
    assert (
        compared(policies({("a", "x"): [(0.9, None)], ("b", "x"): [(0.8, None)]})).tested is None
    )
    assert compared(policies(TURNED, environment="samples")).tested is None
    part = compared(policies({("a", "x"): [(0.9, None)], ("b", "x"): [(0.8, 0.7)]}))
    assert part.tested.scores == {"b": 0.7}


def test_repetitions_that_are_copies_are_named_and_count_once():
    """As those of a learner without a seed on rows that are always the same."""

    def said(other):
        return compared(frame_of({("fixed", "x"): [1.0] * 8, ("other", "x"): other})).answer

    seeded = [2.0 + i / 10 for i in range(8)]
    assert "7 repetitions repeated another result exactly" in said(seeded).missing
    assert "(fixed 7): they count once" in said(seeded).missing
    for other, sure in ((seeded, "0.0078"), ([2.0] * 7 + [2.1], "0.5"), ([2.0] * 8, "1")):
        assert f"copies counted once, p = {sure})" in said(other).how_sure
    frame = frame_of({("fixed", "x"): [1.0] * 8})
    rows_differ = frame.assign(digest=[f"sha{i}" for i in range(8)])
    assert "repeated" not in compared(rows_differ).answer.missing


def test_datasets_that_are_copies_are_named_and_count_once():
    """As those of files with equal bytes, or of one reference written in two ways."""
    frame = frame_of(many(10) | {("crashing", f"d{i}"): ["crash"] * 2 for i in range(10)})
    frame.loc[frame["status"] != "ok", "digest"] = ""
    once = compared(frame[frame["data"] == "d0"])
    copied = compared(frame.assign(digest=frame["digest"].where(frame["digest"] == "", "sha-d0")))
    assert copied.board.table.problems == ("d0",)
    assert (copied.answer.best, copied.tests) == (once.answer.best, once.tests)
    assert copied.answer.missing.startswith(
        "40 of 60 jobs finished (20 failed). 9 datasets repeat"
    )
    assert "(d1, d2, d3, d4, d5 and 4 more): they count once in means" in copied.answer.missing
    assert len(compared(frame).board.table.problems) == 10
