"""The page's section on selection, from real logs of simulated learners."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from algorithms import registry
from algorithms.abc_selection.simulation import SimulatedLearners
from algorithms.base import play
from algorithms.benches.samples import SamplesBench
from tasks.report.selection import Selections, section


def log(name):
    learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
    bench = SamplesBench(learners, initial_rows=100)
    return list(play(name, registry.build(name), bench, seed=1))


def row(algorithm, bench="samples", status="ok"):
    return SimpleNamespace(
        key=algorithm, algorithm=algorithm, label=algorithm, data="d", repetition=0,
        bench=bench, status=status,
    )  # fmt: skip


@pytest.fixture
def gathered():
    selections = Selections()
    for name in ("abc", "successive-halving", "full-run"):
        selections.add(row(name), log(name))
    return selections


def test_only_finished_runs_of_selection_are_gathered():
    selections = Selections()
    selections.add(row("chacha", bench="stream"), [])
    selections.add(row("abc", status="crash"), log("abc"))
    assert not selections.runs
    assert section(selections.compared(), {}) is None


def test_the_table_has_a_row_for_each_algorithm_beside_full_run(gathered):
    found = section(gathered.compared(), {"d": "Data"})
    assert [cells[1].text for cells in found["rows"]] == ["abc", "successive-halving"]
    assert all(len(cells) == len(found["columns"]) for cells in found["rows"])
    assert (found["kept"], found["promised"]) == (1, 1)
    assert found["intervals"] > 5
    assert found["above"] + found["below"] <= 1


def test_projections_break_no_assumption(gathered):
    before = section(gathered.compared(), {})
    gathered.add(row("daub"), log("daub"))
    after = section(gathered.compared(), {})
    assert after["intervals"] == before["intervals"]
    (cells,) = [cells for cells in after["rows"] if cells[1].text == "daub"]
    assert [cell.text for cell in cells[-2:]] == ["–", "–"]
    assert cells[-4].text != "–"


def test_the_pictures_go_to_the_pages_of_their_jobs(gathered):
    pictures = gathered.figures()
    assert [figure["title"] for figure in pictures["abc"]] == [
        "Funnels and the real accuracy", "Order of pruning",
    ]  # fmt: skip
    assert pictures["successive-halving"] == []
