"""The paper's figures, from logs of simulated learners on two data sets."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.tasks.report.sections.selections import compared, figures, selection_log

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
    """Runs on data sets ``a`` and ``b``, beside Full-run over all configurations."""
    logs = []
    for seed, data in enumerate("ab"):
        for number, (name, settings, count) in enumerate(runs):
            learners = SimulatedLearners(ACCURACIES[:count], 20_000, 5_000, seed)
            bench = SamplesBench(learners, initial_rows=100)
            events = list(play(f"{name} {number}", registry.build(name, settings), bench, seed=1))
            row = SimpleNamespace(
                key=f"{data}{number}", algorithm=name, label=f"{name} {number}", data=data,
                repetition=0, bench="samples", status="ok",
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


def test_lines_have_a_panel_for_each_data_set(drawn):
    figure = drawn["Speed-up by number of configurations"]
    assert [(trace["name"], trace["xaxis"], trace["x"]) for trace in figure.data] == [
        ("abc", "x", ["3", "5"]),
        ("abc", "x2", ["3", "5"]),
        ("successive-halving", "x", ["3", "5"]),
        ("successive-halving", "x2", ["3", "5"]),
    ]
    assert [trace["showlegend"] for trace in figure.data] == [True, False, True, False]
    assert all(value > 1 for trace in figure.data for value in trace["y"])
    assert [note["text"] for note in figure.layout["annotations"]] == ["First", "Second"]


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
