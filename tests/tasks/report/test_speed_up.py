"""The page's section on speed-up, from real logs of policies over synthetic arms."""

from __future__ import annotations

from types import SimpleNamespace

from algorithms import registry
from algorithms.base import play
from algorithms.tiny import tiny_bench
from tasks.report.speed_up import Races

NAMES = ("tpe-joint", "rising-bandits", "random-arm")


def row(label, bench="pulls", status="ok", data="d"):
    return SimpleNamespace(label=label, data=data, repetition=0, bench=bench, status=status,
                           unit="trials")  # fmt: skip


def log(name):
    return list(play(name, registry.build(name), tiny_bench("pulls"), seed=1))


def test_only_finished_runs_of_trials_are_gathered():
    races = Races()
    races.add(row("chacha", bench="stream"), log("average"))
    races.add(row("average", status="crash"), log("average"))

    assert races.section({}) is None


def test_without_anything_beside_the_reference_there_is_no_section():
    races = Races()
    races.add(row("tpe-joint"), log("tpe-joint"))

    assert races.section({}) is None


def test_every_algorithm_stands_beside_the_joint_optimiser():
    races = Races()
    for name in NAMES:
        races.add(row(name), log(name))
    section = races.section({"d": "the data"})

    assert section["reference"] == "tpe-joint"
    assert "Times fewer trials" in section["columns"]
    assert [[cell.text for cell in line][:4] for line in section["rows"]] == [
        ["the data", "rising-bandits", "1", "1"],
        ["the data", "random-arm", "1", "0"],
    ]
    assert [cell.text for cell in section["rows"][1]][4:6] == ["never", "never"]


def test_over_several_data_sets_there_is_a_line_over_all():
    races = Races()
    for data in ("d", "e"):
        for name in NAMES[:2]:
            races.add(row(name, data=data), log(name))
    section = races.section({})

    assert section["over_all"]
    assert [[cell.text for cell in line][:4] for line in section["rows"]] == [
        ["All data sets", "rising-bandits", "2", "2"],
        ["d", "rising-bandits", "1", "1"],
        ["e", "rising-bandits", "1", "1"],
    ]
