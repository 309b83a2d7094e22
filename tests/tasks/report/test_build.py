"""Sections of the report, each made of its part of the event logs and results."""

import re
from types import SimpleNamespace

import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.tasks.report import build
from tests.selections import SimulatedLearners


def row(algorithm, environment="samples", status="ok"):
    return SimpleNamespace(
        key=algorithm, algorithm=algorithm, name=algorithm, data="d", repetition=0,
        environment=environment, status=status, unit="trials",
    )  # fmt: skip


def test_the_line_is_the_median_and_the_band_its_quartiles():
    mine = build.aligned([pd.Series({1.0: 4.0, 10.0: value}) for value in (1.0, 2.0, 9.0)])
    figure = build.data_figure("X", {"<a>": mine}, ["<a>"], "examples", "mse")
    band, line = figure.data
    assert (line["x"], line["y"], line["name"]) == ([1, 10], [4, 2], "&lt;a&gt;")
    assert band["y"] == [4, 1.5, 5.5, 4]
    alone = build.data_figure("X", {"a": mine[[0]]}, ["a"], "u", "m")
    assert len(alone.data) == 1


def selected(*names):
    """Return the logs of selections."""
    found = []
    for name in names:
        learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
        environment = SamplesEnvironment(learners, initial_rows=100)
        settings = {"delta": 0.01} if name == "abc" else {}
        events = list(play(name, registry.build(name, settings), environment, seed=1))
        found.append((row(name), events))
    return found


NAMES = ("abc", "successive-halving", "full-run")


def test_selections_have_a_row_for_each_finished_algorithm_next_to_full_run(made_of):
    reader = build.selection_log
    assert reader(row("chacha", environment="stream"), []) is None
    assert reader(row("abc", status="crash"), []) is None
    assert build.selections(made_of(reader, selected("abc"))) is None
    found = build.selections(made_of(reader, selected(*NAMES, "daub"), {"d": "Data"}))
    (table,) = found.tables
    texts = ([cell.text for cell in line] for line in table.rows)
    shown = [dict(zip(table.frame, line, strict=True)) for line in texts]
    assert [each["Algorithm"] for each in shown] == ["abc", "successive-halving", "daub"]
    assert "within the allowed epsilon in 1 of 1 runs" in found.text[0]
    intervals, above, below = map(int, re.findall(r"\d+", found.text[1]))
    assert intervals > 5
    assert above + below <= 1
    assert shown[2]["Intervals"] != "0"  # projections, which break no assumption
    assert shown[2]["Fitness broken"] == "–"
