"""Diagnostics of a run: a planted mistake for each code is found, and a clean run has none."""

import dataclasses
import json

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import OVERRUN
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    ExploitivenessViolated,
    ProbeFinished,
    Started,
    TrialFinished,
)
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.jobs.diagnostic_codes import ALARM, CODES, NOTE, find, lines_of
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.diagnostics import (
    FINDERS,
    DiagnosedRun,
    edges,
    error_of_lead,
    is_refuted,
    missed_intervals,
    spent_guarantees,
    unbeaten_baseline,
    worse_version,
)
from leaseboard.tasks.score.frame import to_frame
from leaseboard.tasks.score.summary import compared

FACTS = {"leak_column": "x", "leak_skill": 0.4, "leak_rows": 2000, "leak_errors": 1.0,
         "time_column": "day", "time_certain": True, "time_discordant": 0.0,
         "time_dependence": 20.0}  # fmt: skip


def result(name, score, data="d", repetition=0, **fields):
    given = {
        "key": f"{name}-{data}-{repetition}".replace(" ", "_"), "algorithm": name, "name": name,
        "data": data, "digest": "sha", "seed": 100 + repetition, "environment_seed": repetition,
        "repetition": repetition, "status": "ok", "score": score, "metric": "progressive_mse",
        "unit": "examples", "rows": 4000.0, "rows_available": 4000.0, "cpu_seconds": 1.0,
        "wall_seconds": 1.01, "host": "one", "baseline": name == "last-label",
        "data_facts": FACTS,
    }  # fmt: skip
    return Result(**given | fields)


def diagnosed(rows, logs=(), earlier=(), ignore=("LB005",)):
    frame = to_frame(rows)
    run = DiagnosedRun(frame, compared(frame), {}, dict(logs), earlier)
    return find(FINDERS, run, ignore)


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


def test_lb001_a_lead_that_may_be_by_chance_is_a_note():
    for score in (0.99, 1.0, 1.01):
        found = diagnosed([result("good", score), result("last-label", 1.0)])

        assert (codes(found), codes(found, NOTE)) == ([], ["LB001"])


@pytest.mark.parametrize("metric", ["progressive_mse", "progressive_error", "test_auc"])
def test_lb001_two_perfect_or_unknown_scores_are_a_note_that_json_can_hold(metric):
    for score in (0.0, 0.25):
        found = diagnosed([result(name, score, metric=metric) for name in ("good", "last-label")])

        assert (codes(found), codes(found, NOTE)) == ([], ["LB001"])
        json.loads(json.dumps(found[0].as_row(), allow_nan=False))


def test_lb001_equal_algorithms_rarely_give_an_alarm():
    rng, alarms = generator("an algorithm and a baseline that are alike"), 0
    for _ in range(200):
        good, naive = (float(x) for x in rng.binomial(4000, 0.2, 2) / 4000)
        found = [result("good", good, metric="progressive_error"),
                 result("last-label", naive, metric="progressive_error")]  # fmt: skip
        run = DiagnosedRun(to_frame(found))
        alarms += "LB001" in codes(unbeaten_baseline(run))

    assert alarms <= 20  # .05: more has a probability below .002


def test_lb001_without_a_baselines_job_by_skill_or_the_commonest_class():
    by_skill = diagnosed([result("good", 1.0, metrics={"skill": -0.5, "rmse": 1.0})])
    close = diagnosed([result("good", 1.0, metrics={"skill": -0.01, "error": 0.3})])
    facts = {"metric": "test_accuracy", "direction": "max", "data_facts": {"majority": 0.9}}

    assert codes(by_skill) == ["LB001"]
    assert (codes(close), codes(close, NOTE)) == ([], ["LB001"])
    assert codes(diagnosed([result("good", 0.8, **facts)])) == ["LB001"]
    assert codes(diagnosed([result("good", 0.895, **facts)]), NOTE) == ["LB001"]
    assert codes(diagnosed([result("good", 0.905, **facts)]), NOTE) == ["LB001"]
    assert diagnosed([result("good", 0.95, **facts)]) == []


def test_the_error_of_a_lead_covers_that_of_paired_losses():
    """The bound holds as both predict the same labels; it is near where they share nothing."""
    rng, n = generator("test of the error of a lead"), 2000
    for share in (0.0, 0.5, 0.9):
        common = rng.normal(size=n) * np.sqrt(share)
        one, two = (
            (common + rng.normal(size=n) * np.sqrt(1 - share) * scale) ** 2 for scale in (1, 1.2)
        )
        real = (one - two).std() / np.sqrt(n)

        assert real <= error_of_lead("progressive_mse", one.mean(), two.mean(), n)


def test_lb002_a_leak():
    leak = FACTS | {"leak_column": "refund", "leak_skill": 0.999}

    found = diagnosed(clean(data_facts=leak))

    assert codes(found) == ["LB002"] * 3
    assert "the column refund alone predicts" in str(found[0])


def test_lb002_of_classes_few_rows_prove_nothing():
    perfect = FACTS | {"leak_skill": 1.0, "leak_errors": 0.0, "majority": 0.5}

    assert codes(diagnosed(clean(data_facts=perfect | {"leak_rows": 40}))) == []
    assert codes(diagnosed(clean(data_facts=perfect | {"leak_rows": 400}))) == ["LB002"] * 3


def test_lb003_shuffled_time_matters_where_labels_depend_on_it():
    shuffled = FACTS | {"time_discordant": 0.5}

    assert codes(diagnosed(clean(1, data_facts=shuffled))) == ["LB003"]
    found = diagnosed(clean(1, data_facts=shuffled | {"time_dependence": 1.0}))
    assert (codes(found), codes(found, NOTE)) == ([], ["LB003"])


def test_lb003_of_a_column_that_may_not_be_the_time_of_the_row_is_a_note():
    birth = FACTS | {"time_column": "birth", "time_discordant": 0.5, "time_certain": False}

    found = diagnosed(clean(1, data_facts=birth))

    assert (codes(found), codes(found, NOTE)) == ([], ["LB003"])
    assert str(found[0]).endswith("in the wrong order of birth, which may not be their time")


def test_lb003_is_not_of_jobs_that_split_rows_at_random():
    shuffled = FACTS | {"time_discordant": 0.5}

    assert codes(diagnosed(clean(metric="test_error", data_facts=shuffled))) == []


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


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("end", ["highest", "lowest"])
def test_lb004_the_best_at_the_edge(end, scale):
    values = np.linspace(2, 3, 40) if scale == 1 else (9 + scale) ** np.linspace(0.1, 1, 40)
    rewards = np.linspace(0.5, 0.9, 40)[:: 1 if end == "highest" else -1]

    found = pulled(trials(rewards, values))

    assert codes(found, NOTE) == ["LB004"]
    assert (found[0].facts["end"], found[0].facts["hyperparameter"]) == (end, "depth")


def test_lb004_the_best_in_the_middle_is_not_at_the_edge():
    values = np.linspace(0, 1, 41)

    assert pulled(trials(1 - (values - 0.5) ** 2, values)) == []


NATURAL = {
    "a share of 1": (np.linspace(0.02, 0.99, 40), "highest"),
    "a probability of 0": (np.linspace(0.01, 0.98, 40), "lowest"),
    "a part from a half to 1": (np.linspace(0.5, 1, 40), "highest"),
    "one neighbour": (np.arange(1, 41), "lowest"),
    "no lag": (np.arange(40), "lowest"),
}
WIDER = {
    "a rate": (np.linspace(0.01, 0.3, 40), "lowest"),
    "a rate from its logarithm": (10.0 ** np.linspace(-4, 0, 40), "lowest"),
    "a part from a half": (np.linspace(0.5, 1, 40), "lowest"),
    "a weight up to 1.5": (np.linspace(0, 1.5, 40), "highest"),
    "many neighbours": (np.arange(1, 41), "highest"),
}


@pytest.mark.parametrize("name", [*NATURAL, *WIDER])
def test_lb004_is_not_of_natural_ends(name):
    values, end = (NATURAL | WIDER)[name]
    rewards = np.linspace(0.5, 0.9, 40)[:: 1 if end == "highest" else -1]

    found = pulled(trials(rewards, [float(each) for each in values]))

    assert codes(found, NOTE) == ([] if name in NATURAL else ["LB004"])


def test_lb004_is_rarely_of_hyperparameters_without_effect():
    rng = generator("rewards without a cause")
    row = result("policy", 0.9)
    frame, found = to_frame([row]), 0
    for _ in range(300):
        log = trials(rng.random(40), 2 + rng.random(40))
        found += any(edges(DiagnosedRun(frame, logs={row.key: log})))

    assert found <= 9  # .01 a job at most: more has a probability below .001


def test_lb005_level_algorithms():
    rows = [result(name, score, f"d{i}", baseline=False) for i in range(6)
            for name, score in (("one", 1 + 0.01 * (-1) ** i), ("two", 1.0))]  # fmt: skip

    assert codes(diagnosed(rows, ignore=()), NOTE) == ["LB005"]


def test_lb005_repetitions_of_a_learner_without_a_seed_are_one_observation():
    one = [result(name, score, "d0", j) for j in range(8)
           for name, score in (("one", 1.0), ("two", 1.3), ("last-label", 9.0))]  # fmt: skip
    several = [dataclasses.replace(each, score=each.score * (1 + 0.01 * each.repetition))
               for each in one]  # fmt: skip
    on_six = [dataclasses.replace(each, data=f"d{i}", key=f"{each.key}{i}")
              for i in range(6) for each in one]  # fmt: skip

    for rows, shown in ((one, ["LB005"]), (several, []), (on_six[:72], ["LB005"]), (on_six, [])):
        assert codes(diagnosed(rows, ignore=()), NOTE) == shown


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


def test_lb006_configurations_of_a_stream():
    rows = clean()
    lost = [ConfigurationFailed(at=5, configuration=3, reason="not finite")]

    assert codes(diagnosed(rows, {rows[0].key: lost}), NOTE) == ["LB006"]


def test_lb009_an_assumption_of_a_guarantee():
    rows = clean()
    broken = [ExploitivenessViolated(at=5, configuration=3, rows=100, fall=0.1)]

    assert codes(diagnosed(rows, {rows[0].key: broken}), NOTE) == ["LB009"]


def selected(events):
    """Return findings on a selection that loses more than its guarantee allows, and Full-run."""
    rows = [result(name, 0.9, repetition=j, metric="test_accuracy", environment="samples")
            for name in ("abc", "full-run") for j in range(len(events))]  # fmt: skip
    full = play_selection("full-run")
    logs = {row.key: full if row.name == "full-run" else events[row.repetition] for row in rows}
    run = DiagnosedRun(to_frame(rows), logs=logs)
    return [each.facts["runs"] for each in [*missed_intervals(run), *spent_guarantees(run)]]


def play_selection(name, **settings):
    learners = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
    environment = SamplesEnvironment(learners, initial_rows=100)
    return list(play(name, registry.build(name, settings), environment, seed=1))


def test_lb007_and_lb009_equal_repetitions_are_one_observation():
    """A wrong choice, made four times, by equal probes and by others."""
    events = play_selection("abc")
    champion = next(each for each in reversed(events) if isinstance(each, ChampionChanged))
    wrong = [dataclasses.replace(each, configuration=4) if each is champion else each
             for each in events]  # fmt: skip
    others = [
        [dataclasses.replace(each, test_accuracy=each.test_accuracy + j / 10_000)
         if isinstance(each, ProbeFinished) else each for each in wrong]
        for j in range(4)
    ]  # fmt: skip

    assert set(selected([wrong] * 4)) == {1}
    assert set(selected(others)) == {4}


def test_lb010_machines_and_load():
    two = [dataclasses.replace(each, host="two") for each in clean()[:3]] + clean()[3:]
    seconds = [dataclasses.replace(each, unit="cpu_seconds") for each in two]

    assert (codes(diagnosed(two)), codes(diagnosed(two), NOTE)) == ([], ["LB010"])
    assert codes(diagnosed(seconds)) == ["LB010"]
    assert codes(diagnosed(clean(wall_seconds=3.0)), NOTE) == ["LB010"]


def test_lb011_rows_left_out():
    assert codes(diagnosed(clean(1, rows_available=9000.0)), NOTE) == ["LB011"]
    assert codes(diagnosed(clean(1, rows_available=None)), NOTE) == ["LB011"]


def test_lb012_a_worse_version():
    before = [dataclasses.replace(each, key=f"old{i}", score=0.9 * each.score, version="v1")
              for i, each in enumerate(clean(5)) if each.name == "good"]  # fmt: skip
    found = diagnosed(clean(5), earlier=before)

    assert codes(found) == ["LB012"]
    assert "good is worse than its version v1 by 11.11% in 10 pairs" in str(found[0])
    assert diagnosed(clean(5), earlier=[dataclasses.replace(each, version="v1")
                                        for each in clean(5)]) == []  # fmt: skip


def versions(change, n=12, **fields):
    """Return findings on jobs whose earlier results differ by `change` of the number and score."""
    now = [result("good", 1 + 0.01 * j, repetition=j, version="v2", **fields) for j in range(n)]
    before = [dataclasses.replace(each, key=f"old{j}", **{"version": "v1"} | change(j, each.score))
              for j, each in enumerate(now)]  # fmt: skip
    run = DiagnosedRun(to_frame(now), earlier=before)
    return [each.severity for each in worse_version(run)]


@pytest.mark.parametrize("other", [
    {"algorithm": "another"}, {"settings": {"K": 5}}, {"environment": "folds"},
    {"environment_options": {"log_target": True}}, {"budget": 100.0}, {"environment_seed": 99},
    {"version": "v2"}, {"digest": "of other data"},
])  # fmt: skip
def test_lb012_is_of_two_versions_of_one_configuration(other):
    assert versions(lambda _, score: {"score": 0.8 * score}, settings={"K": 1}) == [ALARM]
    assert versions(lambda _, score: {"score": 0.8 * score} | other, settings={"K": 1}) == []


def test_lb012_code_may_gain_settings_and_the_latest_other_version_counts():
    assert versions(lambda _, score: {"score": 0.8 * score}, settings={"new": 1}) == [ALARM]
    now = [result("good", 1 + 0.01 * j, repetition=j, version="v3") for j in range(12)]
    earlier = [dataclasses.replace(each, key=f"{version}{each.key}", version=version,
                                   started=f"2026-0{month}-01T00:00:00+00:00",
                                   score=each.score * factor)
               for each in now
               for version, month, factor in (("v1", 1, 0.8), ("v2", 2, 1.1))]  # fmt: skip

    assert list(worse_version(DiagnosedRun(to_frame(now), earlier=earlier))) == []


def test_lb012_repetitions_of_a_learner_without_a_seed_are_one_observation():
    def same(factor):
        now = [result("good", factor, repetition=j, version="v2") for j in range(12)]
        before = [dataclasses.replace(each, score=1.0, version="v1") for each in now]
        return list(worse_version(DiagnosedRun(to_frame(now), earlier=before)))

    assert (same(1 + 1e-9), same(1.5)) == ([], [])


def test_lb012_a_change_within_the_tolerance_is_not_worse():
    assert versions(lambda _, score: {"score": score * (1 - 1e-6)}) == []
    assert versions(lambda _, score: {"score": score * (1 - 1e-2)}) == [ALARM]


def test_lb012_neutral_changes_are_rarely_called_worse():
    rng, alarms = generator("neutral changes"), 0
    for _ in range(300):
        now = [dataclasses.replace(each, score=each.score * float(rng.lognormal(0, 0.05)))
               for each in clean(4) if each.name == "good"]  # fmt: skip
        before = [dataclasses.replace(each, version="v1",
                                      score=each.score * float(rng.lognormal(0, 0.05)))
                  for each in clean(4) if each.name == "good"]  # fmt: skip
        alarms += "LB012" in codes(worse_version(DiagnosedRun(to_frame(now), earlier=before)))

    assert alarms <= 9  # .01 each: more has a probability below .001


def test_counts_that_chance_explains_are_not_refuted():
    assert not is_refuted(1, 20, 0.05)
    assert is_refuted(5, 20, 0.05)


def test_ignored_codes_are_not_shown_and_every_sentence_can_be_written():
    shuffled = clean(1, data_facts=FACTS | {"time_discordant": 0.5})

    assert diagnosed(shuffled, ignore=["LB003", "LB005"]) == []
    (line,) = lines_of(diagnosed(shuffled))
    assert line.startswith("LB003 alarm: on d0 50% of pairs of rows are in the wrong order of day")
    assert line.endswith(". Sort the rows by their time, the oldest first, and run again.")
    (line,) = lines_of(diagnosed(clean(1, rows_available=None)))
    assert "see docs" not in line
    assert list(CODES) == [f"LB{number:03}" for number in range(1, 13)]


@pytest.mark.parametrize("metric", ["progressive_error", "test_mse", "best_feedback"])
@pytest.mark.parametrize("scores", [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("rows", [None, 4.0])
def test_scores_and_rows_at_their_limits_are_judged(metric, scores, rows):
    mine, baseline = scores
    given = {"metric": metric, "rows": rows, "data_facts": {}}

    found = diagnosed([result("good", mine, **given), result("last-label", baseline, **given)])

    alarm, note = ("LB001" in codes(found, severity) for severity in (ALARM, NOTE))
    assert not alarm or (mine > baseline and rows)  # without rows nothing is shown
    assert alarm or note or mine < baseline
    assert not note or mine >= baseline or rows
