"""Sections on policies over arms: regret, exploitation."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.tasks.report.sections.policies import (
    job_progress,
    regret,
    shares_of,
)


def pulls(label, score, champion, *, data="d", environment="pulls", status="ok", **shares):
    return {
        "name": label, "data": data, "repetition": 0, "environment": environment,
        "status": status,
        "score": score, "direction": "max", "champion": {"arm": champion},
        "metrics": {"test": 0.5, **{f"exploitation.{arm}": s for arm, s in shares.items()}},
    }  # fmt: skip


def texts(labels, *rows):
    found = shares_of(pd.DataFrame(rows), labels)
    return [[*found.frame.columns], *([cell.text for cell in line] for line in found.rows)]


def test_shares_are_means_and_the_best_arm_is_that_of_the_winning_trial():
    assert texts(
        ["ucb", "average"],
        pulls("ucb", 0.9, "tree", tree=0.8, line=0.2),
        pulls("average", 0.8, "line", tree=0.5, line=0.5),
        pulls("ucb", 0.7, "tree", data="e", tree=0.6, line=0.4),
        pulls("average", 0.8, "line", data="e", tree=0.5, line=0.5),
    ) == [
        ["Algorithm", "Runs", "Best arm", "tree", "line"],
        ["ucb", "2", "60.0 %", "70.0 %", "30.0 %"],
        ["average", "2", "50.0 %", "50.0 %", "50.0 %"],
    ]
    _, *tied = texts(
        ["ucb", "average"],
        pulls("ucb", 0.9, "tree", tree=0.6, line=0.1, bayes=0.3),
        pulls("average", 0.9, "line", tree=0.4, line=0.4, bayes=0.2),
    )
    assert [line[2] for line in tied] == ["70.0 %", "80.0 %"]


def test_other_jobs_have_no_shares():
    others = [pulls("chacha", 0.1, "x", environment="stream"),
              pulls("ucb", 0.9, "a", status="crash", a=1.0)]  # fmt: skip
    assert shares_of(pd.DataFrame(others), ["chacha", "ucb"]) is None


class TwoArms(Trials):
    arms, tunable = ("good", "bad"), (True, True)

    def trial(self, arm, n, seconds=math.inf):
        return Trial(arm, {}, 0.9 - 0.5 * arm, 0.5, 0.1, 0.1)


def row(label="average", environment="pulls", status="ok", data="d"):
    return SimpleNamespace(name=label, data=data, repetition=1, environment=environment,
                           status=status,
                           unit="trials")  # fmt: skip


def test_the_least_regret_is_first(made_of):
    def played(name):
        environment = PullsEnvironment(TwoArms(), 10)
        return list(play(name, registry.build(name), environment, seed=1))

    logs = [(row(name), played(name)) for name in ("average", "max-ucb")]
    assert job_progress(row(status="crash"), logs[0][1]) is None
    table = regret(made_of(job_progress, logs))
    assert {line[0].text for line in table.rows} == {"average", "max-ucb"}
    assert table.rows[0][3].text.startswith("1.00")
    assert regret(made_of(job_progress, [])) is None
