"""Sections on policies over arms: speed-ups, exploitation, retired arms."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.pulls import PullsBench, Trial
from leaseboard.algorithms.testing import tiny_bench
from leaseboard.tasks.report.sections.policies import (
    job_progress,
    job_retired,
    retired,
    shares_of,
    speed_up,
)


def pulls(label, score, champion, *, data="d", repetition=0, bench="pulls", status="ok", **shares):
    return {
        "label": label, "data": data, "repetition": repetition, "bench": bench, "status": status,
        "score": score, "direction": "max", "champion": {"arm": champion},
        "metrics": {"test": 0.5, **{f"exploitation.{arm}": s for arm, s in shares.items()}},
    }  # fmt: skip


def texts(rows, labels):
    found = shares_of(pd.DataFrame(rows), labels)
    return found.columns, [[cell.text for cell in line] for line in found.rows]


def test_shares_are_means_and_the_best_arm_is_that_of_the_winning_trial():
    columns, lines = texts(
        [
            pulls("ucb", 0.9, "tree", tree=0.8, line=0.2),
            pulls("average", 0.8, "line", tree=0.5, line=0.5),
            pulls("ucb", 0.7, "tree", data="e", tree=0.6, line=0.4),
            pulls("average", 0.8, "line", data="e", tree=0.5, line=0.5),
        ],
        ["ucb", "average"],
    )

    assert columns == ["Algorithm", "Runs", "Best arm", "tree", "line"]
    assert lines == [
        ["ucb", "2", "60.0 %", "70.0 %", "30.0 %"],
        ["average", "2", "50.0 %", "50.0 %", "50.0 %"],
    ]


def test_of_a_tie_all_winning_arms_count():
    _, lines = texts(
        [
            pulls("ucb", 0.9, "tree", tree=0.6, line=0.1, bayes=0.3),
            pulls("average", 0.9, "line", tree=0.4, line=0.4, bayes=0.2),
        ],
        ["ucb", "average"],
    )

    assert [line[2] for line in lines] == ["70.0 %", "80.0 %"]


def test_a_peer_has_one_arm_and_names_no_winner():
    _, lines = texts(
        [
            pulls("flaml", 0.95, "flaml", flaml=1.0),
            pulls("ucb", 0.9, "tree", tree=0.75, line=0.25),
        ],
        ["flaml", "ucb"],
    )

    assert lines[0] == ["flaml", "1", "–", "100.0 %", "–", "–"]
    assert lines[1] == ["ucb", "1", "75.0 %", "–", "75.0 %", "25.0 %"]


def test_other_benches_and_failed_jobs_have_no_section():
    rows = [
        pulls("chacha", 0.1, "x", bench="stream"),
        pulls("ucb", 0.9, "a", status="crash", a=1.0),
    ]

    assert shares_of(pd.DataFrame(rows), ["chacha", "ucb"]) is None


class Trials:
    arms, tunable, spent_cpu_seconds = ("good", "broken"), (True, True), 0.0

    def trial(self, arm, n):
        if arm:
            return Trial(arm, {}, 0.0, None, 0.1, 0.1, "crash", "one class only")
        return Trial(arm, {}, 0.5 + n / 100, 0.5, 0.1, 0.1)


def retired_row(bench="pulls"):
    return SimpleNamespace(label="average", data="d", repetition=1, bench=bench)


LOG = list(play("average", registry.build("average"), PullsBench(Trials(), 20), seed=1))


def test_a_retired_arm_stands_with_its_reason(made_of):
    (table,) = retired(made_of(job_retired, [(retired_row(), LOG)], {"d": "the data"})).tables

    (line,) = table.rows
    assert [cell.text for cell in line][:5] == [
        "average", "the data", "broken",
        "failed 3 times in a row: crash: one class only", "1",
    ]  # fmt: skip
    assert line[-1].text == "3"


def test_where_none_was_retired_there_is_no_retired(made_of):
    assert job_retired(retired_row(bench="stream"), LOG) is None
    eliminated = list(play("r", registry.build("rising-bandits"), PullsBench(Good(), 30), seed=1))
    assert retired(made_of(job_retired, [(retired_row(), eliminated)])) is None


class Good(Trials):
    def trial(self, arm, n):
        return Trial(arm, {}, 0.9 - 0.5 * arm, 0.5, 0.1, 0.1)


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
