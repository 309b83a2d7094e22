"""Runs that differ in one setting alone."""

from __future__ import annotations

from leaseboard.algorithms.abc_selection.calibration import Calibration
from leaseboard.tasks.score.selection import Selection, sweeps


def run(algorithm="abc", data="d", configurations=20, **settings):
    return Selection(
        key="", label="", data=data, algorithm=algorithm, settings=settings,
        configurations=configurations, speedup=2.0, speedup_trained=1.5, loss=0.0,
        relative_loss=0.0, epsilon=settings.get("epsilon"), kept=True, probes=1, largest_rows=10,
        calibration=Calibration(0, 0, 0, 0.0),
    )  # fmt: skip


def test_a_setting_is_swept_where_all_else_is_alike():
    runs = [run(epsilon=0.1, bounds="paper"), run(epsilon=0.01, bounds="exact"),
            run(epsilon=0.05, bounds="exact")]  # fmt: skip
    (sweep,) = sweeps(runs, "epsilon")
    assert sweep.name == "abc"
    assert list(sweep.points["d"]) == [0.01, 0.05]
    assert sweep.runs == runs[1:]


def test_repetitions_and_data_sets_share_a_sweep():
    runs = [run(data=data, configurations=n) for data in "ab" for n in (10, 5) for _ in range(3)]
    (sweep,) = sweeps(runs, "configurations")
    assert {data: list(values) for data, values in sweep.points.items()} == {
        "a": [5, 10], "b": [5, 10],
    }  # fmt: skip
    assert len(sweep.points["a"][5]) == 3


def test_sweeps_of_one_algorithm_are_named_after_what_sets_them_apart():
    runs = [run(configurations=n, bounds=bounds, delta=0.5) for n in (5, 10)
            for bounds in ("exact", "paper")]  # fmt: skip
    runs += [run("daub", configurations=n, ratio=2.0) for n in (5, 10)]
    names = [sweep.name for sweep in sweeps(runs, "configurations")]
    assert names == ["abc (bounds exact)", "abc (bounds paper)", "daub"]


def test_the_bench_s_own_value_comes_first():
    runs = [run("successive-halving", initial_rows=rows) for rows in (500, None, 250)]
    (sweep,) = sweeps(runs, "initial_rows")
    assert list(sweep.points["d"]) == [None, 250, 500]


def test_one_value_is_no_sweep():
    assert sweeps([run(epsilon=0.1), run("daub")], "epsilon") == []
