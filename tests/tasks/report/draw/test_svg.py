from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from leaseboard.tasks.report.draw import svg
from leaseboard.tasks.score.bootstrap import Interval
from leaseboard.tasks.score.leaderboard import Row
from leaseboard.tasks.score.significance import Comparison


def row(label, score, width=0.1, cost=1.0):
    return Row(
        label=label, place=1, rank=Interval(1, 1, 1),
        score=Interval(score, score - width, score + width), raw=Interval(*[np.nan] * 3),
        wins=0, ties=0, losses=0, cpu_seconds=1.0, relative_cost=cost, n_ok=1, n_failed=0,
        n_skipped=0, n_not_run=0, n_ranked=1,
    )  # fmt: skip


def texts(picture):
    return [element.text for element in ET.fromstring(str(picture)).iter("text")]


def positions(picture, attribute="cx"):
    return [float(c.get(attribute)) for c in ET.fromstring(str(picture)).iter("circle")]


def test_intervals_stand_in_the_order_of_their_scores():
    picture = svg.intervals([row("a<b>", 0.9), row("b", 0.5), row("c", 0.1)], "score")
    found = positions(picture)
    assert found == sorted(found, reverse=True)
    assert "a<b>" in texts(picture)
    assert len(ET.fromstring(str(picture)).findall("line[@class='bar']")) == 3


def test_one_that_is_far_worse_is_an_arrow_with_its_number():
    rows = [row(str(i), value) for i, value in enumerate((1.0, 0.9, 0.8, 0.7, -43.8))]
    picture = svg.intervals(rows, "score")
    assert len(positions(picture)) == 4
    assert "−43.8" in texts(picture)
    assert max(positions(picture)) - min(positions(picture)) > 200
    assert svg.BEYOND in texts(picture)
    assert {"−43.8", svg.BEYOND} <= set(texts(svg.costs(rows, "score")))


def test_a_bar_ends_where_the_axis_ends():
    rows = [row(str(i), value) for i, value in enumerate((1.0, 0.9, 0.8, 0.7, -43.8))]
    rows.append(row("wide", 0.85, width=50))
    root = ET.fromstring(str(svg.intervals(rows, "score")))
    bars = root.findall("line[@class='bar']")
    labels = [float(e.get("x")) for e in root.findall("text[@class='label']")]
    ends = [float(bar.get(end)) for bar in bars for end in ("x1", "x2")]
    assert len(bars) == 5
    assert max(labels) < min(ends) < max(ends) < 500
    assert len(root.findall("path[@class='dot']")) == 3  # the far one's, and both ends of the wide


def test_a_few_scores_between_0_and_1_are_all_shown_where_they_lie():
    rows = [row("a", 0.547, 0.45), row("b", 0.5, 0.5, cost=9), row("c", 0.02, 0.02, cost=2)]
    for picture in (svg.intervals(rows, "score"), svg.costs(rows, "score")):
        assert len(positions(picture)) == 3
        assert svg.BEYOND not in texts(picture)


def test_nothing_finite_gives_no_picture():
    assert svg.intervals([row("a", np.nan)], "score") == ""
    assert svg.costs([row("a", 0.5)], "score") == ""


def test_the_algorithms_that_none_beats_are_named():
    rows = [row("cheap", 0.2), row("good", 0.9, cost=100), row("beaten", 0.1, cost=10)]
    picture = svg.costs(rows, "score")
    assert {"cheap", "good"} <= set(texts(picture))
    assert "beaten" not in texts(picture)
    assert "beaten: 10 times the cheapest" in str(picture)


def test_the_critical_difference_diagram_has_a_row_each_and_nothing_beyond_its_edges():
    labels = ("<a>", "b", "c", "an algorithm of a long name")
    tests = Comparison(
        labels, (1.0, 2.0, 3.5, 3.5), (), 9, 0.01, 9.5, (), (labels[:2], labels[1:]), ""
    )
    picture = svg.critical_difference(tests)
    root = ET.fromstring(str(picture))
    bars = [
        (float(e.get("y1")), float(e.get("y2"))) for e in root.findall("line[@class='clique']")
    ]
    assert len(bars) == 2
    assert bars[0][0] < bars[1][0] < bars[0][1] < bars[1][1]
    assert positions(picture) == sorted(positions(picture))
    assert {"<a> 1.00", "an algorithm of a… 3.50", "Nemenyi CD = 9.5"} <= set(texts(picture))
    width = float(root.get("viewBox").split()[2])
    assert width <= 360
    places = [float(e.get(k)) for e in root.iter() for k in ("x1", "x2", "cx") if e.get(k)]
    assert all(0 < place < width for place in places)
    alone = Comparison(("a",), (1.0,), (), 1, np.nan, np.nan, (), (), "")
    assert svg.critical_difference(alone) == ""


def test_a_sheet_shows_its_pictures_with_titles_and_leaves_out_the_empty_ones():
    rows = [row("a<b>", 0.9), row("b", 0.5)]
    pictures = [("Score <1>", svg.intervals(rows, "score")), ("None", svg.costs([], "score"))]
    page = svg.sheet(pictures)
    assert "<h2>Score &lt;1&gt;</h2><svg" in page
    assert page.count("<h2>") == page.count("<svg") == 1
    assert "http" not in page


def test_costs_name_the_scale_of_the_score():
    rows = [row("cheap", 0.2), row("good", 0.9, cost=100)]
    said = texts(svg.costs(rows, "normalised mse: a is 0, b is 1"))
    assert "normalised mse, more is better" in said


def test_costs_on_one_dataset_are_of_the_score_itself():
    nothing = Interval(*[np.nan] * 3)
    rows = [
        replace(row(label, np.nan, cost=cost), raw=replace(nothing, value=raw))
        for label, cost, raw in (("cheap", 1, 30.0), ("good", 100, 10.0), ("beaten", 10, 50.0))
    ]
    name = "mean mse, less is better"
    said = texts(svg.costs(rows, name, less=True))
    assert {name, "cheap", "good", "10", "50"} <= set(said)
    assert "beaten" not in said
    assert "beaten" in texts(svg.costs(rows, "mean R2, more is better"))


def test_a_hint_names_no_ends_where_there_is_no_interval():
    shown = replace(row("a", 0.5), score=Interval(0.5, np.nan, np.nan))
    picture = str(svg.intervals([shown], "score"))
    assert "<title>a: 0.5</title>" in picture
    assert 'class="bar"' not in picture
