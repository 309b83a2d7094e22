"""Diagnostics of a run: a planted mistake for each code is found, and a clean run has none."""

import dataclasses
import json

import pytest

from leaseboard.algorithms.environments.pulls import OVERRUN
from leaseboard.algorithms.events import ConfigurationAdmitted, Started, TrialFinished
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.jobs.checks import ALARM, NOTE, lines_of
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.diagnostics import DiagnosedRun, unbeaten_baseline
from leaseboard.tasks.score.frame import to_frame

FACTS = {"leak_column": "x", "leak_skill": 0.4, "leak_rows": 2000, "leak_errors": 1.0,
         "time_column": "day", "time_certain": True, "time_discordant": 0.0}  # fmt: skip


def result(name, score, data="d", repetition=0, **fields):
    given = {
        "key": f"{name}-{data}-{repetition}".replace(" ", "_"), "algorithm": name, "name": name,
        "data": data, "digest": f"sha-{data}", "seed": 100 + repetition,
        "environment_seed": repetition,
        "repetition": repetition, "status": "ok", "score": score, "metric": "progressive_mse",
        "unit": "examples", "rows": 4000.0, "rows_available": 4000.0, "cpu_seconds": 1.0,
        "wall_seconds": 1.01, "host": "one", "baseline": name == "last-label",
        "data_facts": FACTS,
    }  # fmt: skip
    return Result(**given | fields)


def diagnosed(rows, logs=()):
    return DiagnosedRun(to_frame(rows), logs=dict(logs)).findings()


def codes(found, severity=ALARM):
    return [each.code for each in found if each.severity == severity]


def clean(n=3, **fields):
    """Return results of an algorithm that is better than another and a baseline on `n` data."""
    return [
        result(name, score * (1 + 0.01 * (i + j)), f"d{i}", j, **fields)
        for i in range(n)
        for j in range(2)
        for name, score in (("good", 1.0), ("other", 1.5), ("last-label", 2.0))
    ]


def test_a_clean_run_has_no_finding():
    assert diagnosed(clean()) == []


def test_lb001_a_baseline_that_wins():
    found = diagnosed([result("good", 1.5), result("last-label", 1.0)])

    assert codes(found) == ["LB001"]
    assert str(found[0]) == "on d the baseline last-label (1) is better than good (1.5)"


@pytest.mark.parametrize("metric", ["progressive_mse", "progressive_error", "test_auc"])
def test_lb001_two_perfect_or_unknown_scores_are_a_note_that_json_can_hold(metric):
    for score in (0.0, 0.25):
        found = diagnosed([result(name, score, metric=metric) for name in ("good", "last-label")])

        assert (codes(found), codes(found, NOTE)) == ([], ["LB001"])
        json.loads(json.dumps(found[0].as_row(), allow_nan=False))


def test_lb001_equal_algorithms_rarely_give_an_alarm():
    rng, alarms = generator("an algorithm and a baseline that are alike"), 0
    for _ in range(60):
        good, naive = (float(x) for x in rng.binomial(4000, 0.2, 2) / 4000)
        found = [result("good", good, metric="progressive_error"),
                 result("last-label", naive, metric="progressive_error")]  # fmt: skip
        run = DiagnosedRun(to_frame(found))
        alarms += "LB001" in codes(unbeaten_baseline(run))

    assert alarms <= 9  # .05: more has a probability below .002


def test_lb002_a_leak():
    leak = FACTS | {"leak_column": "refund", "leak_skill": 0.999}

    found = diagnosed(clean(data_facts=leak))

    assert codes(found) == ["LB002"] * 3
    assert "the column refund alone predicts" in str(found[0])


def test_lb003_of_a_column_that_may_not_be_the_time_of_the_row_is_a_note():
    shuffled = FACTS | {"time_discordant": 0.5}
    birth = shuffled | {"time_column": "birth", "time_certain": False}

    assert codes(diagnosed(clean(1, data_facts=shuffled))) == ["LB003"]
    found = diagnosed(clean(1, data_facts=birth))
    assert (codes(found), codes(found, NOTE)) == ([], ["LB003"])
    assert str(found[0]).endswith("in the wrong order of birth, which may not be their time")


def trials(rewards, values, arm=0, status="ok"):
    """Return the log of pulls of one arm with one hyperparameter, and one without effect."""
    begun = {"environment": "pulls", "unit": "trials", "budget": 99, "capacity": None}
    events = [
        Started(at=0, algorithm="p", seed=0, settings={}, **begun),
        ConfigurationAdmitted(at=0, configuration=arm, parameters={"arm": "forest"}),
    ]
    rng = generator("a hyperparameter without effect")
    for i, (reward, value) in enumerate(zip(rewards, values, strict=True), 10):
        given = {"depth": value, "noise": 2 + float(rng.random())}
        events.append(ConfigurationAdmitted(at=i, configuration=i, parameters=given, parent=arm))
        events.append(TrialFinished(at=i, configuration=i, arm=arm, reward=reward,
                                    cpu_seconds=1.0, wall_seconds=1.0, status=status,
                                    reason="" if status == "ok" else "out of memory"))  # fmt: skip
    return events


def pulled(events):
    row = result("policy", 0.9, metric="validation_accuracy", direction="max", unit="trials")
    return diagnosed([row], {row.key: events})


def test_lb006_failed_jobs_and_arms():
    crash = {"score": None, "status": "crash", "reason": "KeyError: 'x'", "metric": ""}
    broken = diagnosed([*clean(), result("new", data="d0", **crash)])

    assert codes(broken) == ["LB006"]
    assert "1 of 1 jobs of new failed, on d0: crash: KeyError" in str(broken[0])
    assert codes(pulled(trials([0.0] * 5, range(5), status="memout"))) == ["LB006"]
    some = [*trials([0.5] * 9, [1] * 9), *trials([0.0], [1], status="timeout")[2:]]
    assert codes(pulled(some), NOTE) == ["LB006"]
    cut = [
        dataclasses.replace(each, reason=OVERRUN) if isinstance(each, TrialFinished) else each
        for each in some
    ]
    assert codes(pulled(cut), NOTE) == []


def test_ignored_codes_are_not_shown_and_a_line_ends_with_the_advice():
    frame = to_frame(clean(1, data_facts=FACTS | {"time_discordant": 0.5}))

    assert DiagnosedRun(frame).findings(["LB003"]) == []
    (line,) = lines_of(DiagnosedRun(frame).findings())
    assert line.startswith("LB003 alarm: on d0 50% of pairs of rows are in the wrong order of day")
    assert line.endswith("and run again.")
