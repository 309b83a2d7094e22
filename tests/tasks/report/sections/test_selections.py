"""Sections on configuration selection, and its pictures on jobs' pages."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import BoundsUpdated
from leaseboard.tasks.report.charts import colour
from leaseboard.tasks.report.sections.selections import (
    compared,
    figures,
    funnels,
    pictures,
    selection_log,
    selections,
    verdicts,
)


def log(name):
    learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
    environment = SamplesEnvironment(learners, initial_rows=100)
    settings = {"delta": 0.01} if name == "abc" else {}
    return list(play(name, registry.build(name, settings), environment, seed=1))


def row(algorithm, environment="samples", status="ok"):
    return SimpleNamespace(
        key=algorithm, algorithm=algorithm, name=algorithm, data="d", repetition=0,
        environment=environment, status=status,
    )  # fmt: skip


def logs(*names):
    return [(row(name), log(name)) for name in names]


NAMES = ("abc", "successive-halving", "full-run")


def test_the_table_has_a_row_for_each_finished_algorithm_next_to_full_run(made_of):
    assert selection_log(row("chacha", environment="stream"), []) is None
    assert selection_log(row("abc", status="crash"), log("abc")) is None
    assert selections(made_of(selection_log, logs("abc"))) is None
    found = selections(made_of(selection_log, logs(*NAMES), {"d": "Data"}))
    (table,) = found.tables
    assert [cells[1].text for cells in table.rows] == ["abc", "successive-halving"]
    assert all(len(cells) == len(table.columns) for cells in table.rows)
    assert "within the allowed epsilon in 1 of 1 runs" in found.text[0]
    intervals, above, below = map(int, re.findall(r"\d+", found.text[1]))
    assert intervals > 5
    assert above + below <= 1


def test_projections_break_no_assumption(made_of):
    before = selections(made_of(selection_log, logs(*NAMES)))
    after = selections(made_of(selection_log, logs(*NAMES, "daub")))
    assert after.text[1] == before.text[1]
    (cells,) = [cells for cells in after.tables[0].rows if cells[1].text == "daub"]
    assert [cell.text for cell in cells[-2:]] == ["–", "–"]
    assert cells[-4].text != "–"


def test_the_pictures_go_to_the_pages_of_their_jobs(made_of):
    drawn = pictures(made_of(selection_log, logs(*NAMES)))
    assert [figure["title"] for figure in drawn["abc"]] == [
        "Funnels and the real accuracy", "Order of pruning",
    ]  # fmt: skip
    assert drawn["successive-halving"] == []


LEARNERS = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
REAL = {number: LEARNERS.real_accuracy(number) for number in range(5)}


def funnel_log(name):
    environment = SamplesEnvironment(LEARNERS, initial_rows=100)
    return list(play(name, registry.build(name), environment, seed=1))


def traces_of(figure, **wanted):
    return [trace for trace in figure.data if all(trace[k] == v for k, v in wanted.items())]


def test_every_funnel_has_a_panel_with_the_real_accuracy():
    events = funnel_log("abc")
    figure = funnels(events, REAL)
    truths = traces_of(figure, mode="lines")
    assert [trace["y"][0] for trace in truths] == pytest.approx(
        [REAL[int(note["text"].split(":")[0])] for note in figure.layout["annotations"][:-2]],
        abs=1e-4,
    )
    assert figure.layout["annotations"][0]["text"].endswith("champion")
    bars = sum(len(trace["x"]) for trace in traces_of(figure, mode="markers"))
    assert bars == sum(isinstance(event, BoundsUpdated) for event in events)


def test_an_interval_that_misses_the_truth_is_red():
    events = funnel_log("abc")
    last = {e.configuration: e for e in events if isinstance(e, BoundsUpdated)}
    real = {n: (event.lower + event.upper) / 2 for n, event in last.items()} | {1: 0.2}
    (broken,) = [
        trace for trace in traces_of(funnels(events, real), mode="markers", xaxis="x")
        if trace["error_y"]["color"] == colour(3, 0.75)
    ]  # fmt: skip
    assert min(broken["y"]) > 0.2
    _, held, missed = verdicts(events, real).data
    assert len(held["y"]) == 4
    assert [name.split(":")[0] for name in missed["y"]] == ["1"]


def test_verdicts_list_everyone_in_the_order_of_pruning_and_need_no_truth():
    events = funnel_log("abc")
    bars, *truths = verdicts(events, REAL).data
    assert len(bars["y"]) == 5
    assert bars["y"][-1].startswith("1: ")  # the champion remained
    assert {name for trace in truths for name in trace["y"]} == set(bars["y"])
    assert len(verdicts(events, {}).data) == 1
    assert funnels(events, {}) is None
    assert funnels(funnel_log("full-run"), REAL) is None


ACCURACIES = (0.6, 0.9, 0.7, 0.89, 0.5)
RUNS = (
    ("full-run", {}, 5),
    ("abc", {}, 5),
    ("abc", {}, 3),
    ("abc", {"epsilon": 0.05}, 5),
    ("abc", {"scheduler": "ucb"}, 5),
    ("abc", {"epsilon": 0.0, "time_limit": 1.0}, 5),
    ("abc", {"epsilon": 0.0, "time_limit": 2.0}, 5),
    ("successive-halving", {}, 5),
    ("successive-halving", {}, 3),
    ("successive-halving", {"initial_rows": 50}, 5),
)


def selected(runs, made_of):
    """Run on datasets ``a`` and ``b``, with Full-run over all configurations."""
    logs = []
    for seed, data in enumerate("ab"):
        for number, (name, settings, count) in enumerate(runs):
            learners = SimulatedLearners(ACCURACIES[:count], 20_000, 5_000, seed)
            environment = SamplesEnvironment(learners, initial_rows=100)
            events = list(
                play(f"{name} {number}", registry.build(name, settings), environment, seed=1)
            )
            row = SimpleNamespace(
                key=f"{data}{number}", algorithm=name, name=f"{name} {number}", data=data,
                repetition=0, environment="samples", status="ok",
            )  # fmt: skip
            logs.append((row, events))
    return compared(made_of(selection_log, logs))


@pytest.fixture(scope="module")
def drawn(made_of):
    made = figures(selected(RUNS, made_of), {"a": "First", "b": "Second"})
    return {figure.title: figure for figure in made}


def test_every_comparison_of_the_paper_has_its_figure(drawn):
    assert list(drawn) == [
        "Speed-up by number of configurations",
        "Loss by number of configurations",
        "Speed-up against loss",
        "Relative loss",
        "Speed-up by epsilon",
        "Loss by epsilon",
        "Loss under a time limit",
        "Schedulers",
    ]
    for figure in drawn.values():
        json.dumps(figure.payload(), allow_nan=False)


def test_lines_have_a_panel_for_each_dataset(drawn):
    figure = drawn["Speed-up by number of configurations"]
    assert [(trace["name"], trace["xaxis"], trace["x"]) for trace in figure.data] == [
        ("abc", "x", ["3", "5"]),
        ("abc", "x2", ["3", "5"]),
        ("successive-halving", "x", ["3", "5"]),
        ("successive-halving", "x2", ["3", "5"]),
    ]
    assert [trace["showlegend"] for trace in figure.data] == [True, False, True, False]
    assert all(value > 1 for trace in figure.data for value in trace["y"])
    assert [note["text"] for note in figure.layout["annotations"][:2]] == ["First", "Second"]


def test_a_larger_epsilon_is_faster(drawn):
    for trace in drawn["Speed-up by epsilon"].data:
        assert trace["x"] == ["0.01", "0.05"]
        assert trace["y"][1] >= trace["y"][0]


def test_time_is_a_share_of_full_run_s(drawn):
    traces = {
        (trace["name"], trace["xaxis"]): trace for trace in drawn["Loss under a time limit"].data
    }
    assert traces["abc", "x"]["x"] == pytest.approx([1.0, 2.0])  # of 5 times 20 seconds
    assert len(traces["successive-halving", "x2"]["x"]) == 2


def test_the_scatter_has_a_point_for_each_run(drawn):
    abc, halving = drawn["Speed-up against loss"].data
    assert (abc["name"], len(abc["x"])) == ("abc", 4)
    assert (halving["name"], len(halving["x"])) == ("successive-halving", 4)
    assert abc["marker"]["symbol"] == ["circle", "circle", "square", "square"]
    assert [trace["name"] for trace in drawn["Schedulers"].data] == ["gradient-ci", "ucb"]


def test_without_sweeps_runs_are_compared_by_label(made_of):
    made = figures(selected(RUNS[:2], made_of), {})
    assert [figure.title for figure in made] == ["Speed-up against loss", "Relative loss"]
    assert [trace["name"] for trace in made[0].data] == ["abc 1"]


def test_without_runs_there_is_nothing_to_draw():
    assert figures([], {}) == []
