"""Selections compared with Full-run, and their ranks."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import BoundsUpdated, Started, of
from leaseboard.tasks.score.papers import Truth, compare, standings
from tests.selections import SimulatedLearners

ACCURACIES = (0.6, 0.9, 0.7, 0.8, 0.5)


def log(name, accuracies=ACCURACIES, settings=None):
    learners = SimulatedLearners(accuracies, 20_000, 5_000, seed=0)
    environment = SamplesEnvironment(learners, initial_rows=100)
    return (
        list(play(name, registry.build(name, settings), environment, seed=1)),
        environment,
        learners,
    )


@pytest.fixture
def truth():
    found = Truth()
    found.add(log("full-run")[0])
    return found


def test_speed_ups_count_the_selection_and_the_training(truth):
    events, environment, learners = log("abc")
    assert truth.rows == 20_000
    assert truth.by_number(events) == {n: learners.real_accuracy(n) for n in range(5)}
    found, spent = compare(events, truth), environment.cost.cpu_seconds
    assert found.speedup == pytest.approx(100 / spent)
    assert found.speedup_trained == pytest.approx(100 / (spent + 20))
    assert (found.loss, found.epsilon, found.configurations) == (0.0, 0.01, 5)
    assert found.intervals > 5


def test_violations_are_counted_by_the_assumption_they_break(truth):
    events, wrong = log("abc")[0], {0: {"lower": 0.99}, 1: {"upper": 0.01}}
    bounds = [e for e in of(events, BoundsUpdated) if e.units < truth.rows]
    missed = [replace(e, **wrong.get(e.configuration, {})) for e in bounds]
    found = compare([e for e in events if e not in bounds] + missed, truth)
    above, below = (sum(e.configuration == n for e in bounds) for n in wrong)
    assert (found.intervals, found.above, found.below) == (len(bounds), above, below)


def test_a_guarantee_is_met_or_broken_and_none_is_made_by_a_run_cut_short(truth):
    assert compare(log("abc")[0], truth).kept is True
    stricter = [replace(event, settings={**event.settings, "epsilon": -1.0})
                if isinstance(event, Started) else event for event in log("abc")[0]]  # fmt: skip
    assert compare(stricter, truth).kept is False
    cut = log("abc", settings={"time_limit": 0.5, "epsilon": 0.0})[0]
    for events in (cut, log("successive-halving")[0]):
        assert compare(events, truth).kept is None


AT = ["Mean rank, 1 % may be lost", "Mean rank, 5 % may be lost"]
BY = ["Mean rank by loss", "Mean rank by seconds"]
TRUTH = [("full-run", data, 0, 0.9, 100.0) for data in ("d", "e")]


def as_runs(*rows, **changes):
    """Return a frame of (algorithm, data, repetition, score, seconds); a crash has no score."""
    return pd.DataFrame(
        {
            "name": name,
            "algorithm": name,
            "data": data,
            "repetition": repetition,
            "status": "crash" if score is None else "ok",
            "complete": True,
            "score": score,
            "environment": "" if score is None else "samples",
            "metrics": {"configurations": 20.0, "selection_cpu_seconds": seconds},
        }
        | changes
        for name, data, repetition, score, seconds in rows
    )


def ranks(*rows):
    return {label: tuple(each[AT]) for label, each in standings(as_runs(*rows)).iterrows()}


def test_who_loses_little_ranks_by_seconds_and_who_loses_more_after_it_by_loss():
    rows = [
        *TRUTH,
        *(("exact", data, 0, 0.9, 50.0) for data in "de"),
        *(("near", data, 0, 0.891, 10.0) for data in "de"),
        *(("far", data, 0, 0.86, 1.0) for data in "de"),
        *(("out", data, 0, 0.7, 0.1) for data in "de"),
    ]
    assert ranks(*rows) == {
        "near": (1.0, 2.0), "exact": (2.0, 3.0), "full-run": (3.0, 4.0),
        "far": (4.0, 1.0), "out": (5.0, 5.0),
    }  # fmt: skip


def test_a_failure_is_last_and_not_a_cheap_run():
    rows = [*TRUTH, ("weak", "d", 0, 0.5, 10.0), ("broken", "d", 0, None, 0.0)]
    broken = standings(as_runs(*rows)).loc["broken"]
    assert tuple(broken[AT]) == (3.0, 3.0)
    assert tuple(broken[BY]) == (3.0, 3.0)
    assert broken[["Mean loss", "Speed-up"]].isna().all()


def test_what_cannot_be_compared_is_not():
    other_sizes = as_runs(("abc", "d", 0, 0.9, 1.0), metrics={"configurations": 5.0})
    for frame in (
        as_runs(("abc", "d", 0, 0.9, 1.0), ("daub", "d", 0, 0.9, 1.0)),  # without Full-run
        as_runs(*TRUTH),
        as_runs(*TRUTH, ("chacha", "d", 0, 0.1, 1.0), environment="stream"),
        as_runs(("full-run", "d", 0, None, 0.0), ("abc", "d", 0, None, 0.0)),
        pd.concat([as_runs(*TRUTH), other_sizes]),
    ):
        assert standings(frame).empty
