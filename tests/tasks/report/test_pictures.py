from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.tasks.report.charts import compact
from leaseboard.tasks.report.pictures import (
    BEYOND,
    COMMON,
    costs,
    critical_difference,
    intervals,
    visible,
)
from leaseboard.tasks.score.inference import Comparison, Interval
from leaseboard.tasks.score.leaderboard import Row


def row(label, score, width=0.1, cost=1.0):
    return Row(
        label=label, place=1, rank=Interval(1, 1, 1),
        score=Interval(score, score - width, score + width), raw=Interval(*[np.nan] * 3),
        wins=0, ties=0, losses=0, cpu_seconds=1.0, relative_cost=cost, n_ok=1, n_failed=0,
        n_skipped=0, n_not_run=0, n_ranked=1,
    )  # fmt: skip


def board(*rows, one_set=False, less=False, scale="normalised mse: a is 0, b is 1"):
    return SimpleNamespace(rows=rows, metric="mse", baselines=(), one_set=one_set,
                           less_is_better=less, scale=scale)  # fmt: skip


def names(figure):
    return [name for name in figure.data[0]["text"] if name]


FAR = [row(str(i), value) for i, value in enumerate((1.0, 0.9, 0.8, 0.7, -43.8))]


def test_intervals_stand_in_the_order_of_the_board_with_their_ends():
    figure = intervals(board(row("a<b>", 0.9), row("b", 0.5), row("c", 0.1)))
    (dots,) = figure.data
    assert dots["x"] == [0.9, 0.5, 0.1]
    assert dots["error_x"]["array"] == pytest.approx([0.1] * 3)
    assert figure.layout["yaxis"]["ticktext"] == ["a&lt;b&gt;", "b", "c"]
    assert figure.layout["yaxis"]["autorange"] == "reversed"
    compact(figure.payload())


def test_one_that_is_far_worse_is_an_arrow_with_its_number():
    for figure, along in ((intervals(board(*FAR)), "x"), (costs(board(*FAR)), "y")):
        (dots,) = figure.data
        assert [shape.startswith("triangle") for shape in dots["marker"]["symbol"]][-1:] == [True]
        assert "−43.8" in dots["text"]
        assert min(dots[along]) >= 0.5
        assert figure.note.endswith(BEYOND)
        compact(figure.payload())


def test_a_few_scores_between_0_and_1_are_all_shown_where_they_lie():
    rows = [row("a", 0.547, 0.45), row("b", 0.5, 0.5, cost=9), row("c", 0.02, 0.02, cost=2)]
    for figure in (intervals(board(*rows)), costs(board(*rows))):
        assert set(figure.data[0]["marker"]["symbol"]) == {"circle"}
        assert BEYOND not in figure.note


def test_nothing_finite_gives_no_picture():
    assert intervals(board(row("a", np.nan))) is None
    assert costs(board(row("a", 0.5))) is None


def test_the_algorithms_that_none_beats_are_named():
    figure = costs(board(row("cheap", 0.2), row("good", 0.9, cost=100), row("bad", 0.1, cost=10)))
    assert names(figure) == ["cheap", "good"]
    assert "bad: 10 times the cheapest, score 0.1" in figure.data[0]["hovertext"]
    assert figure.layout["yaxis"]["title"]["text"] == "normalised mse<br>more is better"


def test_costs_on_one_dataset_are_of_the_score_itself():
    rows = [
        replace(row(label, np.nan, cost=cost), raw=Interval(raw, np.nan, np.nan))
        for label, cost, raw in (("cheap", 1, 30.0), ("good", 100, 10.0), ("beaten", 10, 50.0))
    ]
    figure = costs(board(*rows, one_set=True, less=True))
    assert names(figure) == ["cheap", "good"]
    assert figure.layout["yaxis"]["title"]["text"] == "mean mse<br>less is better"
    assert "beaten" in names(costs(board(*rows, one_set=True)))


def test_a_hint_names_no_ends_where_there_is_no_interval():
    shown = replace(row("a", 0.5), score=Interval(0.5, np.nan, np.nan))
    (dots,) = intervals(board(shown)).data
    assert dots["hovertext"] == ["a: 0.5"]
    assert dots["error_x"]["array"] == [0]


def test_the_critical_difference_diagram_has_a_row_each_and_nothing_beyond_its_edges():
    labels = ("<a>", "b", "c", "an algorithm of a very long name")
    tests = Comparison(
        labels, (1.0, 2.0, 3.5, 3.5), ("d",), 9, 0.01, 9.5, (), (labels[:2], labels[1:]), ""
    )
    figure = critical_difference(tests)
    dots, *bars, ruler = figure.data
    assert dots["x"] == [1, 2, 3.5, 3.5]
    assert [bar["y"] for bar in bars] == [[-0.2, 1.2], [0.8, 3.2]]
    assert ruler["text"][-1] == "Nemenyi CD = 9.5"
    low, high = figure.layout["xaxis"]["range"]
    assert all(low < x < high for trace in figure.data for x in trace["x"])
    assert figure.layout["yaxis"]["ticktext"][0] == "&lt;a&gt;  1.00"
    assert "Left out" in figure.note
    alone = Comparison(("a",), (1.0,), (), 1, np.nan, np.nan, (), (), "")
    assert critical_difference(alone) is None


def points(*values):
    return [Interval(value, np.nan, np.nan) for value in values]


def test_the_range_of_few_algorithms_is_shown_whole():
    found = [Interval(0.547, 0.094, 1.0), Interval(0.5, 0.0, 1.0), Interval(0.02, 0.0, 0.04)]
    assert visible(found) == (0.0, 1.0)
    assert visible(points(0.9, 0.8, -43.8)) == (-43.8, 0.9)
    low, high = visible(points(5.0, 5.0))
    assert low < 5 < high


def test_an_outlier_that_would_flatten_all_others_is_cut_off():
    assert visible(points(1.0, 0.9, 0.8, 0.7, -43.8), COMMON) == (0.7, 1.0)
    assert visible(points(1.0, 0.9, 0.8, 0.7, 60.0), COMMON) == (0.7, 1.0)


def test_a_range_that_is_common_or_little_wider_is_never_cut():
    close = points(0.90, 0.91, 0.92, 0.93, 0.02)
    assert visible(close, COMMON) == (0.02, 0.93)
    assert visible(close) == (0.9, 0.93)
    assert visible(points(10, 11, 12, 13, 21.9)) == (10, 21.9)


def test_the_far_end_of_a_near_algorithm_is_cut_off_but_no_near_estimate():
    found = [*points(1.0, 0.9, 0.8, 0.7), Interval(0.85, -50.0, 52.0)]
    low, high = visible(found, COMMON)
    assert -1 < low <= 0.7
    assert 1.0 <= high < 3


def test_half_that_are_equal_leave_nothing_to_measure_by():
    assert visible(points(1.0, 1.0, 1.0, 1.0, -40.0)) == (-40.0, 1.0)
