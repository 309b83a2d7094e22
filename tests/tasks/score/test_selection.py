"""Selections compared with Full-run, and their ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import BoundsUpdated, Started, of
from leaseboard.tasks.score.papers import Truth, compare
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
    assert found["speedup"] == pytest.approx(100 / spent)
    assert found["speedup_trained"] == pytest.approx(100 / (spent + 20))
    assert (found["loss"], found["epsilon"], found["configurations"]) == (0.0, 0.01, 5)
    assert found["intervals"] > 5


def test_violations_are_counted_by_the_assumption_they_break(truth):
    events, wrong = log("abc")[0], {0: {"lower": 0.99}, 1: {"upper": 0.01}}
    bounds = [e for e in of(events, BoundsUpdated) if e.units < truth.rows]
    missed = [replace(e, **wrong.get(e.configuration, {})) for e in bounds]
    found = compare([e for e in events if e not in bounds] + missed, truth)
    above, below = (sum(e.configuration == n for e in bounds) for n in wrong)
    assert (found["intervals"], found["above"], found["below"]) == (len(bounds), above, below)


def test_a_guarantee_is_met_or_broken_and_none_is_made_by_a_run_cut_short(truth):
    assert compare(log("abc")[0], truth)["kept"] is True
    stricter = [replace(event, settings={**event.settings, "epsilon": -1.0})
                if isinstance(event, Started) else event for event in log("abc")[0]]  # fmt: skip
    assert compare(stricter, truth)["kept"] is False
    cut = log("abc", settings={"time_limit": 0.5, "epsilon": 0.0})[0]
    for events in (cut, log("successive-halving")[0]):
        assert compare(events, truth)["kept"] is None
