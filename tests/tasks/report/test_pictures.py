import html
import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.report.charts import compact
from leaseboard.tasks.report.pictures import (
    BEYOND,
    COMMON,
    GLYPH,
    LINE,
    NARROW,
    apart,
    costs,
    critical_difference,
    figures,
    intervals,
    visible,
)
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.inference import Comparison, Interval
from leaseboard.tasks.score.leaderboard import Row
from leaseboard.tasks.score.summary import compared


def row(label, score, width=0.1, cost=1.0):
    return Row(
        name=label, place=1, rank=Interval(1, 1, 1),
        score=Interval(score, score - width, score + width), raw=Interval(*[np.nan] * 3),
        wins=0, ties=0, losses=0, cpu_seconds=cost, relative_cost=cost, n_ok=1, n_failed=0,
        n_skipped=0, n_not_done=0, n_ranked=1,
    )  # fmt: skip


def board(*rows, one_set=False, less=False, scale="normalised mse: a is 0, b is 1"):
    return SimpleNamespace(rows=rows, metric="mse", baselines=(), one_set=one_set,
                           less_is_better=less, scale=scale)  # fmt: skip


def names(figure):
    (tags,) = [trace for trace in figure.data if trace["mode"] == "text"]
    return [name.strip() for name in tags["text"]]


def dots(figure):
    return next(trace for trace in figure.data if trace.get("hovertext"))


def best(figure):
    marked = zip(names(figure), dots(figure)["marker"]["color"], strict=True)
    return [name for name, paint in marked if paint == "$accent"]


FAR = [row(str(i), value) for i, value in enumerate((1.0, 0.9, 0.8, 0.7, -43.8))]


def test_intervals_are_in_the_order_of_the_leaderboard_with_their_ends():
    figure = intervals(board(row("a<b>", 0.9), row("b", 0.5), row("c", 0.1)), {})
    (dots,) = figure.data
    assert dots["x"] == [0.9, 0.5, 0.1]
    assert dots["error_x"]["array"] == pytest.approx([0.1] * 3)
    assert figure.layout["yaxis"]["ticktext"] == ["a&lt;b&gt;", "b", "c"]
    top, bottom = figure.layout["yaxis"]["range"][::-1]
    assert top < 0
    assert bottom > 2
    compact(figure.payload())


def test_one_that_is_far_worse_is_an_arrow_with_its_number():
    for figure, along in ((intervals(board(*FAR), {}), "x"), (costs(board(*FAR)), "y")):
        drawn = dots(figure)
        assert [shape.startswith("triangle") for shape in drawn["marker"]["symbol"]][-1:] == [True]
        assert any("−43.8" in word for trace in figure.data for word in trace.get("text", ()))
        assert min(drawn[along]) >= 0.5
        assert figure.note.endswith(BEYOND)
        compact(figure.payload())


def test_a_few_scores_between_0_and_1_are_all_shown_where_they_lie():
    rows = [row("a", 0.547, 0.45), row("b", 0.5, 0.5, cost=9), row("c", 0.02, 0.02, cost=2)]
    for figure in (intervals(board(*rows), {}), costs(board(*rows))):
        symbols = dots(figure)["marker"].get("symbol", "circle")
        assert set(np.atleast_1d(symbols)) == {"circle"}
        assert BEYOND not in figure.note


def test_the_ends_of_an_axis_are_not_arrows_though_scores_have_many_digits():
    rows = [row(name, 110 / 114 + i / 37.0, np.nan) for i, name in enumerate("abc")]
    (drawn,) = intervals(board(*rows), {}).data
    assert drawn["mode"] == "markers"
    level = intervals(losses(a=[0.9], b=[1.0], c=[100.0]), {}).data[0]
    assert level["textposition"] == "top right"  # to the left it would be cut off


def test_nothing_finite_gives_no_picture():
    assert intervals(board(row("a", np.nan)), {}) is None
    assert costs(board(row("a", 0.5))) is None


def test_every_algorithm_is_named_and_those_that_none_beats_are_marked():
    figure = costs(board(row("cheap", 0.2), row("good", 0.9, cost=100), row("bad", 0.1, cost=10)))
    assert names(figure) == ["cheap", "good", "bad"]
    assert best(figure) == ["cheap", "good"]
    assert "bad: score 0.1, 10 CPU s a job" in dots(figure)["hovertext"]
    assert figure.layout["yaxis"]["title"]["text"] == "normalised mse<br>more is better"


def test_costs_on_one_dataset_are_of_the_score_itself():
    rows = [
        replace(row(label, np.nan, cost=cost), raw=Interval(raw, np.nan, np.nan))
        for label, cost, raw in (("cheap", 1, 30.0), ("good", 100, 10.0), ("beaten", 10, 50.0))
    ]
    figure = costs(board(*rows, one_set=True, less=True))
    assert best(figure) == ["cheap", "good"]
    assert figure.layout["yaxis"]["title"]["text"] == "mse<br>less is better"
    assert "beaten" in best(costs(board(*rows, one_set=True)))


@pytest.mark.parametrize("seed", range(4))
def test_no_two_names_overlap_nor_cover_a_point_however_close_the_points_are(seed):
    random = np.random.default_rng(seed)
    many = 24
    x, y = random.uniform(0, NARROW, many), random.normal(150, 20, many)
    words = [f"algorithm-{i}" for i in range(many)]
    heights, moved, sides = apart(x, y, words)
    widths = [GLYPH * len(word) for word in words]
    boxes = [
        (a + 8, a + 8 + wide, h) if side == "right" else (a - 8 - wide, a - 8, h)
        for a, h, side, wide in zip(x, heights, sides, widths, strict=True)
    ]
    for (a, b, h), (c, d, other) in itertools.combinations(boxes, 2):
        assert abs(h - other) >= LINE - 1e-9 or b <= c or d <= a
    assert all(
        abs(h - point) > LINE / 2 for h, point, m in zip(heights, y, moved, strict=True) if m
    )


def losses(**scores):
    """Return a leaderboard of mean squared errors by algorithm on x, y, ...; b is a baseline."""
    results = [
        Result(key=f"{label}{i}", algorithm=label, name=label, data=data, digest="d", seed=0,
               environment_seed=0, repetition=0, status="ok", metric="progressive_mse",
               direction="min", score=score, cpu_seconds=1.0, baseline=label == "b")
        for label, row in scores.items() for i, (data, score) in enumerate(zip("xyz", row,
                                                                               strict=False))
    ]  # fmt: skip
    return compared(as_frame(results)).board


def test_relative_losses_have_a_logarithmic_axis_with_the_baseline_and_a_dot_for_each_dataset():
    figure = intervals(losses(a=[1.0, 50.0], b=[10.0, 10.0]), {"x": "first <x>"})
    level, first, second, means = figure.data
    assert (level["x"], figure.layout["xaxis"]["type"]) == ([1, 1], "log")
    assert [first["name"], second["name"]] == ["first &lt;x&gt;", "y"]
    assert (first["x"], second["x"]) == ([0.1, 1], [5, 1])
    assert means["x"] == [pytest.approx(0.7071, abs=1e-4), 1]
    words = "a on first &lt;x&gt;: 0.1<br>progressive mean squared error 1; b 10"
    assert first["hovertext"][0] == words
    low, high = figure.layout["xaxis"]["range"]
    assert low < -1 < 0.7 < high


def test_a_relative_loss_of_a_diverged_algorithm_flattens_no_other():
    figure = intervals(losses(a=[1.0], b=[10.0], c=[9.0], d=[11.0], e=[8.0], f=[1e30]), {})
    low, high = figure.layout["xaxis"]["range"]
    assert high - low < 4
    assert "1e+29" in figure.data[-1]["text"]
    assert intervals(losses(a=[0.0, 0.0], b=[10.0, 10.0]), {}) is not None


def test_a_hint_without_an_interval_names_no_ends():
    shown = replace(row("a", 0.5), score=Interval(0.5, np.nan, np.nan))
    (dots,) = intervals(board(shown), {}).data
    assert dots["hovertext"] == ["a: 0.5"]
    assert dots["error_x"]["array"] == [0]


def test_the_critical_difference_diagram_has_a_row_each_and_nothing_beyond_its_edges():
    labels = ("<a>", "b", "c", "an algorithm of a very long name")
    ranks = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 4.0], [4.0, 3.0]])
    tests = Comparison(
        labels, (1.0, 2.0, 3.5, 3.5), ("d",), 2, ranks, (), (labels[:2], labels[1:]), ""
    )
    figure = critical_difference(tests)
    dots, *bars, ruler = figure.data
    assert dots["x"] == [1, 2, 3.5, 3.5]
    assert [bar["y"] for bar in bars] == [[-0.2, 1.2], [0.8, 3.2]]
    assert ruler["text"][0] == "Nemenyi CD = 3.32"
    low, high = figure.layout["xaxis"]["range"]
    assert all(low < x < high for trace in figure.data for x in trace["x"])
    assert figure.layout["yaxis"]["ticktext"][0] == "&lt;a&gt;  1.00"
    assert "Left out" in figure.note
    alone = Comparison(("a",), (1.0,), (), 1, np.ones((1, 1)), (), (), "")
    assert critical_difference(alone) is None


def points(*values):
    return [Interval(value, np.nan, np.nan) for value in values]


def test_a_range_is_whole_unless_an_outlier_would_flatten_all_others():
    found = [Interval(0.547, 0.094, 1.0), Interval(0.5, 0.0, 1.0), Interval(0.02, 0.0, 0.04)]
    assert visible(found) == (0.0, 1.0)
    assert visible(points(0.9, 0.8, -43.8)) == (-43.8, 0.9)  # few
    low, high = visible(points(5.0, 5.0))
    assert low < 5 < high
    for far in (-43.8, 60.0):
        assert visible(points(1.0, 0.9, 0.8, 0.7, far), COMMON) == (0.7, 1.0)
    close = points(0.90, 0.91, 0.92, 0.93, 0.02)
    assert (visible(close, COMMON), visible(close)) == ((0.02, 0.93), (0.9, 0.93))
    assert visible(points(10, 11, 12, 13, 21.9)) == (10, 21.9)
    assert visible(points(1.0, 1.0, 1.0, 1.0, -40.0)) == (-40.0, 1.0)  # no deviation
    # The far end of a near algorithm is cut off, but no near estimate.
    found = [*points(1.0, 0.9, 0.8, 0.7), Interval(0.85, -50.0, 52.0)]
    low, high = visible(found, COMMON)
    assert -1 < low <= 0.7
    assert 1.0 <= high < 3


def test_still_pictures_are_small_run_no_script_and_hold_every_name():
    labels = ("<a> $x$", "模型", "c")
    results = [
        Result(key=f"{i}{data}{seed}", algorithm="a", name=label, data=data, digest="d",
               seed=seed, environment_seed=seed, repetition=seed, status="ok", metric="mse",
               score=1.0 + i + seed / 7, cpu_seconds=10.0**i)
        for i, label in enumerate(labels) for data in "xyz" for seed in range(3)
    ]  # fmt: skip
    found = compared(as_frame(results))
    page = figures(found)
    assert figures(found) == page
    assert page.count("<svg") == 3
    assert len(page) < 60_000
    assert "<script" not in page
    assert all(html.escape(label) in page for label in labels)
    assert figures(compared(as_frame(results[:1]))).count("<svg") == 1


def test_equal_scores_of_many_repetitions_have_a_picture():
    results = [
        Result(key=f"{label}{seed}", algorithm="a", name=label, data="x", digest="d", seed=seed,
               environment_seed=seed, repetition=seed, status="ok", metric="mse", score=score,
               cpu_seconds=1.0)
        for label, score in (("a", 52.37109), ("b", 55.15043), ("c", 13.11078))
        for seed in range(100)
    ]  # fmt: skip
    assert "<svg" in figures(compared(as_frame(results)))
