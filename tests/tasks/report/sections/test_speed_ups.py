"""The page's section on speed-up, from real logs of policies over synthetic arms."""

from __future__ import annotations

from types import SimpleNamespace

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.tiny import tiny_bench
from leaseboard.tasks.report.sections.policies import job_progress, speed_up

NAMES = ("tpe-joint", "rising-bandits", "random-arm")


def row(label, bench="pulls", status="ok", data="d"):
    return SimpleNamespace(label=label, data=data, repetition=0, bench=bench, status=status,
                           unit="trials")  # fmt: skip


def log(name):
    return list(play(name, registry.build(name), tiny_bench("pulls"), seed=1))


def test_only_finished_runs_of_trials_are_read():
    assert job_progress(row("chacha", bench="stream"), log("average")) is None
    assert job_progress(row("average", status="crash"), log("average")) is None
    assert job_progress(row("average"), log("average")) is not None


def test_without_anything_beside_the_reference_there_is_no_speed_up(made_of):
    assert speed_up(made_of(job_progress, [])) is None
    assert speed_up(made_of(job_progress, [(row("tpe-joint"), log("tpe-joint"))])) is None


def test_every_algorithm_stands_beside_the_joint_optimiser(made_of):
    logs = [(row(name), log(name)) for name in NAMES]
    found = speed_up(made_of(job_progress, logs, {"d": "the data"}))
    (table,) = found.tables

    assert "at least the one with which tpe-joint ended" in found.text[0]
    assert "over all data sets and repetitions" not in found.text[0]
    assert "Times fewer trials" in table.columns
    assert [[cell.text for cell in line][:4] for line in table.rows] == [
        ["the data", "rising-bandits", "1", "1"],
        ["the data", "random-arm", "1", "0"],
    ]
    assert [cell.text for cell in table.rows[1]][4:6] == ["never", "never"]


def test_over_several_data_sets_there_is_a_line_over_all(made_of):
    logs = [(row(name, data=data), log(name)) for data in ("d", "e") for name in NAMES[:2]]
    found = speed_up(made_of(job_progress, logs))

    assert "over all data sets and repetitions" in found.text[0]
    assert [[cell.text for cell in line][:4] for line in found.tables[0].rows] == [
        ["All data sets", "rising-bandits", "2", "2"],
        ["d", "rising-bandits", "1", "1"],
        ["e", "rising-bandits", "1", "1"],
    ]
