"""Measures in the place of the score."""

import math
import re
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import MEANS
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.board import plain
from leaseboard.tasks.score.frame import as_frame, by_measure, describe_metrics
from leaseboard.tasks.score.summary import compared, score_name

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def measured(make_frame):
    """Return a frame with a score 1 everywhere, and the given metrics."""

    def made(metrics, baselines=()):
        frame = make_frame({key: [1.0] * len(values) for key, values in metrics.items()})
        frame["metrics"] = [
            metrics[row.name, row.data][row.repetition] for row in frame.itertuples()
        ]
        frame["baseline"] = frame["name"].isin(baselines)
        return as_frame(frame)

    return made


def test_a_measure_is_there_in_the_place_of_the_score(measured):
    frame = measured({("a", "d"): [{"r2": 0.5}], ("b", "d"): [{"r2": 0.75}]})
    found = by_measure(frame, "r2")

    assert found["score"].tolist() == [0.5, 0.75]
    assert set(found["direction"]) == {"max"}
    assert frame["score"].tolist() == [1.0, 1.0]


def test_data_that_have_no_such_measure_are_left_out_and_failures_are_not(measured):
    frame = measured({
        ("a", "d"): [{"mae": 2.0}], ("b", "d"): [{"mae": 1.0}],
        ("a", "c"): [{"kappa": 0.5}], ("b", "c"): [{"kappa": 0.75}],
    })  # fmt: skip
    frame.loc[(frame["name"] == "b") & (frame["data"] == "d"), ["status", "score"]] = (
        "crash",
        math.nan,
    )
    frame.at[frame.index[frame["status"] == "crash"][0], "metrics"] = {}
    found = by_measure(frame, "mae")

    assert set(found["data"]) == {"d"}
    assert found["status"].tolist() == ["ok", "crash"]


def test_skill_is_over_the_best_baseline_of_the_same_repetition(measured):
    frame = measured({
        ("mine", "d"): [{"rmse": 1.0}, {"rmse": 2.0}],
        ("mean", "d"): [{"rmse": 2.0}, {"rmse": 2.0}],
        ("last", "d"): [{"rmse": 3.0}, {"rmse": 1.0}],
        ("mine", "c"): [{"error": 0.25}, {"error": 0.25}],
        ("mean", "c"): [{"error": 0.5}, {"error": 0.0}],
    }, baselines=("mean", "last"))  # fmt: skip
    found = by_measure(frame, "skill")["score"].tolist()

    assert found[:4] == [0.75, -3.0, 0.0, -3.0]
    assert found[6:] == pytest.approx([0.5, math.nan, 0.0, math.nan], nan_ok=True)


def test_what_no_one_has_cannot_rank(measured):
    frame = measured({("a", "d"): [{"rmse": 2.0}]})

    with pytest.raises(UsageError, match="no job has the metric 'kappa'"):
        by_measure(frame, "kappa")
    with pytest.raises(UsageError, match="'skill': also run a baseline such as last-label"):
        by_measure(frame, "skill")
    with pytest.raises(UsageError, match="unknown metric 'kapa': did you mean 'kappa'"):
        by_measure(frame, "kapa")


def test_a_suite_may_name_what_ranks(measured):
    frame = measured({("a", "d"): [{"mae": 2.0}], ("b", "d"): [{"mae": 1.0}]})
    suite = Suite(title="Mine", data=["d"], algorithms=["vanilla"], metric="mae")
    found = compared(frame, suite)

    assert [row.name for row in found.board.rows] == ["b", "a"]
    assert score_name(found.board) == "mae, less is better"
    assert plain(found).startswith("Mine, by mae\n")


def test_measures_in_a_line():
    assert describe_metrics({"models_per_example": 3.0}) == ""
    assert describe_metrics({"skill": 0.25, "error": 0.125}, "last-label") == (
        "error 0.125, skill 0.25 (relative loss 0.75) over last-label"
    )


def test_every_score_of_an_environment_is_explained():
    """Its name is on the leaderboard and in the documentation of metrics."""
    names = re.compile(r'"((?:progressive|test|validation|cv)_(?:mse|error|reward|accuracy|r2)'
                       r'|best_feedback)"')  # fmt: skip
    places = [
        *ROOT.glob("algorithms/environments/*.py"),
        *ROOT.glob("tasks/jobs/environments/*.py"),
    ]
    given = {name for place in places for name in names.findall(place.read_text())}
    page = (ROOT / "docs/guides/extend.md").read_text()
    assert "validation_reward" in given
    assert sorted(given - MEANS.keys()) == []
    assert sorted(name for name in given if f"`{name}`" not in page) == []
