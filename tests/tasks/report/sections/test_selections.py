"""Sections on configuration selection."""

from __future__ import annotations

import re
from types import SimpleNamespace

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.tasks.report.sections.selections import (
    compared,
    figures,
    selection_log,
    selections,
)
from tests.selections import SimulatedLearners


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
    assert all(len(cells) == len(table.frame.columns) for cells in table.rows)
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


def test_a_point_is_a_run_next_to_full_run(made_of):
    made = made_of(selection_log, logs(*NAMES))
    (figure,) = figures(compared(made), {})
    assert [(trace["name"], len(trace["x"])) for trace in figure.data] == [
        ("abc", 1), ("successive-halving", 1),
    ]  # fmt: skip
    assert figures([], {}) == []
