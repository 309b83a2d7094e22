"""The gate's requirements: what fails it, what does not, and what its exit code says."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.score.baseline import accept
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import paired
from leaseboard.tasks.score.verdict import decide, gate, markdown
from tests.tasks.score.conftest import frame_of as made_up

CHACHA = ("chacha", "x")
VANILLA = ("vanilla", "x")
SCORES = {CHACHA: [1.0, 1.2, 0.9, 1.1, 1.05, 0.95] * 2, VANILLA: [2.0] * 12}


def frame_of(scores, **fields):
    return as_frame(made_up(scores, **fields))


def accepted(scores=None, **fields):
    frame = frame_of(scores or SCORES, **fields)
    return accept(frame, "ci", date="2026-11-21", versions={"leaseboard": "0.1.0"})


def scaled(factor, key=CHACHA):
    return {**SCORES, key: [factor * score for score in SCORES[key]]}


def verdicts(verdict):
    return {(check.name, check.data): check.verdict for check in verdict.checks}


NEW = ("apple", "x")
FIRST = {key: scores[:2] for key, scores in SCORES.items()}
CASES = {
    "the same again": (SCORES, 0, {CHACHA: "same", VANILLA: "same"}),
    "worse beyond the tolerance": (scaled(1.03), 1, {CHACHA: "regressed", VANILLA: "same"}),
    "worse within the tolerance": (scaled(1.001), 0, {CHACHA: "passed"}),
    "better": (scaled(0.9), 0, {CHACHA: "improved"}),
    "exact, and beyond rounding": (scaled(1 + 1e-6, VANILLA), 1, {VANILLA: "regressed"}),
    "exact, and within rounding": (scaled(1 + 1e-12, VANILLA), 0, {VANILLA: "same"}),
    "fewer repetitions": (FIRST, 0, {CHACHA: "same"}),
    "a new one": (SCORES | {NEW: [1.0]}, 0, {NEW: "new"}),
    "a new one that crashes": (SCORES | {NEW: ["crash"]}, 2, {NEW: "failed"}),
    "a crash of a new seed": (SCORES | {CHACHA: [*SCORES[CHACHA], "crash"]}, 2, {}),
    "a failed run and a regression": (scaled(1.5) | {VANILLA: ["crash"] * 12}, 2, {}),
    "one is gone": ({CHACHA: SCORES[CHACHA]}, 1, {VANILLA: "missing"}),
    "a skipped seed": (SCORES | {CHACHA: [1.0, 1.2, "skipped"]}, 1, {CHACHA: "missing"}),
    **{status: (SCORES | {CHACHA: [1.0, status, 0.9]}, 2, {CHACHA: "failed"})
       for status in ("timeout", "memout", "crash", "diverged")},
}  # fmt: skip


def test_the_exit_code_and_the_verdicts_of_what_can_happen():
    found = {name: gate(frame_of(scores), accepted()) for name, (scores, *_) in CASES.items()}
    assert {name: one.exit_code for name, one in found.items()} == {
        name: code for name, (_, code, _) in CASES.items()
    }
    assert {
        name: said for name, (*_, wanted) in CASES.items()
        if not (said := verdicts(found[name])).items() >= wanted.items()
    } == {}  # fmt: skip
    for name, seed in (("crash", "seed 101"), ("a skipped seed", "102")):
        assert seed in next(c for c in found[name].checks if c.fails).explanation


def test_other_data_metric_or_settings_cannot_be_compared():
    before = accepted(settings={"a": 1}, environment_options={"b": 1})
    same = {"settings": {"a": 1, "new": [0.5]}, "environment_options": {"b": 1}}
    assert gate(frame_of(SCORES, **same), before).exit_code == 0
    for field in ({"digest": "other"}, {"metric": "progressive_error"}, {"settings": {"a": 2}},
                  {"environment_options": {"b": 2}}):  # fmt: skip
        verdict = gate(frame_of(SCORES, **(same | field)), before)
        assert (set(verdicts(verdict).values()), verdict.exit_code) == ({"changed"}, 1)
    assert gate(frame_of({NEW: [1.0]}), None).exit_code == 3  # nothing is compared


def test_a_large_mean_drop_that_may_be_chance_passes():
    noisy = {**SCORES, CHACHA: [4.9, *(score - 0.01 for score in SCORES[CHACHA][1:])]}
    (check,) = [c for c in gate(frame_of(noisy), accepted()).checks if c.name == "chacha"]
    assert check.drop.value > 0.05
    assert (check.verdict, check.wanted) == ("passed", 0)
    assert "chance explains it" in check.explanation


def one(old, new):
    """Return the check of one scenario with these scores."""
    (check,) = gate(frame_of({CHACHA: new}), accepted({CHACHA: old})).checks
    return check


def test_a_drop_in_few_repetitions_is_in_doubt_and_asks_for_more():
    old = list(np.linspace(1.0, 1.2, 24))
    asked = [one(old, [1.1 * score for score in old[:n]]).wanted for n in (1, 2, 3, 5, 6, 8)]
    assert asked == [6, 6, 6, 6, 12, 12]
    decided = one(old, [1.1 * score for score in old[:12]])
    assert (decided.verdict, decided.wanted) == ("regressed", 0)


def test_equal_scores_of_few_seeds_are_not_taken_for_exact():
    """A score that takes few values may be equal for some seeds by chance."""
    assert one([1.0] * 12, [1.1] * 3).wanted == 6
    assert one([1.0] * 12, [1.1] * 6).wanted == 12
    assert one([1.0] * 12, [1.1] * 12).verdict == "regressed"
    assert one([1.0] * 3, [1.1] * 3).verdict == "not judged"
    assert one([1.0] * 12, [1.1] + [1.0] * 11).verdict == "passed"


def test_the_level_is_shared_among_the_scenarios_that_changed():
    """All of 12 pairs worse happens by chance once in 4,096: ALPHA / (2 m) down to m = 40."""
    old = np.linspace(1.0, 1.2, 12)
    worse = paired(old, 1.1 * old, "min")
    for changed, verdict in ((40, "regressed"), (41, "passed")):
        assert decide(worse, 0.0, changed, len(old))[0] == verdict


def test_what_failed_ended_early_or_never_ran_cannot_be_accepted():
    early = frame_of(SCORES)
    early.loc[0, ["complete", "reason"]] = [False, "ended early: 1 of 500 examples"]
    for frame, words in (
        (
            frame_of({**SCORES, VANILLA: ["crash"]}),
            r"1 of 13 jobs failed .*x, crash: crash for a reason",
        ),
        (early, r"1 of 24 jobs .*: ended early: 1 of 500 examples"),
        (frame_of({CHACHA: ["skipped"]}), "nothing to accept"),
    ):
        with pytest.raises(LeaseboardError, match=words):
            accept(frame, "ci", date="", versions={})


def everything():
    """Return a verdict with every kind of check, and names that hold markup."""
    hostile = {("<b>|x</b>", "d&d"): [1.0, 2.0], ("gone", "x"): [1.0]}
    now = {**scaled(1.03), ("<b>|x</b>", "d&d"): [1.0, "crash"], ("new", "x"): [1.0]}
    return gate(frame_of(now), accepted({**SCORES, **hostile}), names={"x": "the x"})


def test_markdown_lists_what_fails_first_and_escapes_names():
    text = markdown(everything())
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[0].strip("| *") for row in rows] == [
        "failed", "regressed", "missing", "new",
    ]  # fmt: skip
    assert "&#60;b>\\|x&#60;/b>" in text
    assert "chacha on the x" in text
    assert "+3.00%" in text
    trouble = gate(frame_of(SCORES), accepted(), problems=("the store is gone",))
    assert trouble.exit_code == 2
    assert "Gate failed" in markdown(trouble)
