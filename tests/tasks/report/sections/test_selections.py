"""The page's section on selection, from real logs of simulated learners."""

from __future__ import annotations

import re
from types import SimpleNamespace

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.tasks.report.sections.selections import pictures, selection_log, selections


def log(name):
    learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
    bench = SamplesBench(learners, initial_rows=100)
    settings = {"delta": 0.01} if name == "abc" else {}
    return list(play(name, registry.build(name, settings), bench, seed=1))


def row(algorithm, bench="samples", status="ok"):
    return SimpleNamespace(
        key=algorithm, algorithm=algorithm, label=algorithm, data="d", repetition=0,
        bench=bench, status=status,
    )  # fmt: skip


def logs(*names):
    return [(row(name), log(name)) for name in names]


BESIDE = ("abc", "successive-halving", "full-run")


def test_only_finished_runs_of_selection_are_read(made_of):
    assert selection_log(row("chacha", bench="stream"), []) is None
    assert selection_log(row("abc", status="crash"), log("abc")) is None
    assert selections(made_of(selection_log, logs("abc"))) is None


def test_the_table_has_a_row_for_each_algorithm_beside_full_run(made_of):
    found = selections(made_of(selection_log, logs(*BESIDE), {"d": "Data"}))
    (table,) = found.tables
    assert [cells[1].text for cells in table.rows] == ["abc", "successive-halving"]
    assert all(len(cells) == len(table.columns) for cells in table.rows)
    assert "within the allowed epsilon in 1 of 1 runs" in found.text[0]
    intervals, above, below = map(int, re.findall(r"\d+", found.text[1]))
    assert intervals > 5
    assert above + below <= 1


def test_projections_break_no_assumption(made_of):
    before = selections(made_of(selection_log, logs(*BESIDE)))
    after = selections(made_of(selection_log, logs(*BESIDE, "daub")))
    assert after.text[1] == before.text[1]
    (cells,) = [cells for cells in after.tables[0].rows if cells[1].text == "daub"]
    assert [cell.text for cell in cells[-2:]] == ["–", "–"]
    assert cells[-4].text != "–"


def test_the_pictures_go_to_the_pages_of_their_jobs(made_of):
    drawn = pictures(made_of(selection_log, logs(*BESIDE)))
    assert [figure["title"] for figure in drawn["abc"]] == [
        "Funnels and the real accuracy", "Order of pruning",
    ]  # fmt: skip
    assert drawn["successive-halving"] == []
