"""The sentence that says whether the best algorithm beats what a person would try first."""

import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.compared import NAMED, compared, verdict
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import leaderboard


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
