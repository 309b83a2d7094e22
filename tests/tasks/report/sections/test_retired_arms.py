"""The page's section on retired arms, from a real log: one of two arms always fails."""

from types import SimpleNamespace

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.pulls import PullsBench, Trial
from leaseboard.tasks.report.sections.policies import job_retired, retired


class Trials:
    arms, tunable, spent_cpu_seconds = ("good", "broken"), (True, True), 0.0

    def trial(self, arm, n):
        if arm:
            return Trial(arm, {}, 0.0, None, 0.1, 0.1, "crash", "one class only")
        return Trial(arm, {}, 0.5 + n / 100, 0.5, 0.1, 0.1)


def row(bench="pulls"):
    return SimpleNamespace(label="average", data="d", repetition=1, bench=bench)


LOG = list(play("average", registry.build("average"), PullsBench(Trials(), 20), seed=1))


def test_a_retired_arm_stands_with_its_reason(made_of):
    (table,) = retired(made_of(job_retired, [(row(), LOG)], {"d": "the data"})).tables

    (line,) = table.rows
    assert [cell.text for cell in line][:5] == [
        "average", "the data", "broken",
        "failed 3 times in a row: crash: one class only", "1",
    ]  # fmt: skip
    assert line[-1].text == "3"


def test_where_none_was_retired_there_is_no_retired(made_of):
    assert job_retired(row(bench="stream"), LOG) is None
    eliminated = list(play("r", registry.build("rising-bandits"), PullsBench(Good(), 30), seed=1))
    assert retired(made_of(job_retired, [(row(), eliminated)])) is None


class Good(Trials):
    def trial(self, arm, n):
        return Trial(arm, {}, 0.9 - 0.5 * arm, 0.5, 0.1, 0.1)
