"""Selections compared with Full-run."""

from dataclasses import replace

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.events import BoundsUpdated, of
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.selections import Truth, compare, with_selections
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


def test_what_a_selection_lost(truth):
    events = log("abc")[0]
    assert (truth.rows, len(truth.accuracy)) == (20_000, 5)
    assert compare(events, truth) == {"loss": 0.0, "missed_intervals": 0.0}
    assert compare(events, Truth()) == {}
    half = Truth(truth.accuracy, {*list(truth.trained)[:2]}, truth.rows)
    assert "loss" not in compare(events, half)


def test_intervals_that_miss_are_counted_on_both_sides(truth):
    events, wrong = log("abc")[0], {0: {"lower": 0.99}, 1: {"upper": 0.01}}
    bounds = [e for e in of(events, BoundsUpdated) if e.units < truth.rows]
    missed = [replace(e, **wrong.get(e.configuration, {})) for e in bounds]
    found = compare([e for e in events if e not in bounds] + missed, truth)
    assert found["missed_intervals"] == sum(e.configuration in wrong for e in bounds) > 0


def test_of_the_intervals_of_the_best_alone_no_other_upper_end_counts(truth):
    events = log("abc", settings={"bounds": "best"})[0]
    bounds = [e for e in of(events, BoundsUpdated) if e.units < truth.rows]
    missed = [replace(e, lower=0.0, upper=0.01) for e in bounds]
    found = compare([e for e in events if e not in bounds] + missed, truth)
    assert found["missed_intervals"] == sum(e.configuration == 1 for e in bounds) > 0


def test_a_selection_is_compared_with_the_full_run_of_its_data_and_repetition(make_frame):
    names = "abc", "full-run"
    frame = as_frame(make_frame({(name, data): [0.9] for name in names for data in "xy"}))
    frame = frame.assign(algorithm=frame["name"])
    logs = [(row, log(row.name)[0]) for row in frame.itertuples()
            if (row.name, row.data) != ("full-run", "y")]  # fmt: skip
    found = with_selections(frame, logs).set_index(["name", "data"])["metrics"]
    assert found["abc", "x"]["loss"] == 0.0
    assert not any("loss" in found[place] for place in found.index.drop(("abc", "x")))
