from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.report.sections import curves as anytime
from leaseboard.tasks.score.frame import as_frame, to_frame


def curve(*points):
    x, y = zip(*points, strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float)


def test_a_curve_keeps_its_last_value():
    found = anytime.at_points(curve((1, 5.0), (10, 3.0)), np.array([0.5, 1, 9, 10, 99]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [5, 5, 3, 3]


def test_the_line_is_the_median_and_the_band_its_quartiles():
    mine = [curve((1, 4.0), (10, value)) for value in (1.0, 2.0, 9.0)]
    figure = anytime.data_figure("x", "X", {("<a>", "x"): mine}, ["<a>"], "examples", "mse")
    band, line = figure.data
    assert line["x"] == [1, 10]
    assert line["y"] == [4, 2]
    assert line["name"] == "&lt;a&gt;"
    assert band["y"] == [4, 1.5, 5.5, 4]


def test_one_repetition_has_no_band():
    figure = anytime.data_figure(
        "x", "X", {("a", "x"): [curve((1, 4.0), (9, 2.0))]}, ["a"], "u", "m"
    )
    assert len(figure.data) == 1
    assert anytime.data_figure("y", "Y", {}, ["a"], "u", "m") is None


@pytest.mark.parametrize(("direction", "best"), [("min", "a"), ("max", "b")])
def test_ranks_over_time_follow_the_direction(direction, best):
    found = {
        ("a", "x"): [curve((1, 1.0), (100, 1.0))],
        ("b", "x"): [curve((1, 2.0), (100, 2.0))],
        ("c", "x"): [curve((50, 1.5), (100, 1.5))],
    }
    frame = as_frame(
        to_frame(
            Result(key=label, algorithm=label, name=label, data="x", digest="", seed=0,
                   environment_seed=0, repetition=0, status="ok", score=1.0)
            for label in "abc"
        )
    )  # fmt: skip
    figure = anytime.rank_figure(frame, found, ["a", "b", "c"], {"x": direction})
    ranks = {trace["name"]: trace["y"] for trace in figure.data}
    assert set(ranks[best]) == {1}
    assert ranks["c"][0] == 3  # nothing measured so far
    assert ranks["c"][-1] == 2


def test_the_curve_of_pulls_is_the_best_reward(logs):
    events = [e for e in logs["pulls"]() if type(e).__name__ != "Measured"]
    x, y = anytime.job_curves(SimpleNamespace(status="ok"), events)
    assert x.tolist() == list(range(1, 61))
    assert (np.diff(y) >= 0).all()
    assert y[-1] == events[-1].score
    assert anytime.job_curves(SimpleNamespace(status="crash"), events) is None
    assert anytime.job_curves(SimpleNamespace(status="ok"), events[:1]) is None
