"""Runs of selection held against Full-run."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.algorithms.events import Started
from leaseboard.tasks.score.selection import Truth, compare, with_metrics

ACCURACIES = (0.6, 0.9, 0.7, 0.8, 0.5)


def log(name, accuracies=ACCURACIES, settings=None):
    learners = SimulatedLearners(accuracies, 20_000, 5_000, seed=0)
    bench = SamplesBench(learners, initial_rows=100)
    return list(play(name, registry.build(name, settings), bench, seed=1)), bench, learners


@pytest.fixture
def truth():
    found = Truth()
    found.add(log("full-run")[0])
    return found


def test_the_truth_is_what_full_run_measured(truth):
    _, _, learners = log("full-run")
    assert truth.rows == 20_000
    assert truth.by_number(log("abc")[0]) == {n: learners.real_accuracy(n) for n in range(5)}
    assert sum(truth.seconds.values()) == pytest.approx(5 * 20.0)


def test_speed_ups_count_the_selection_and_the_training(truth):
    events, bench, _ = log("abc")
    found = compare(events, truth)
    spent = bench.cost.cpu_seconds
    assert found.speedup == pytest.approx(100 / spent)
    assert found.speedup_trained == pytest.approx(100 / (spent + 20))
    assert (found.loss, found.epsilon, found.configurations) == (0.0, 0.01, 5)
    assert found.calibration.intervals > 5


def test_training_in_the_run_is_no_part_of_the_selection(truth):
    selected = compare(log("abc")[0], truth)
    trained = compare(log("abc", settings={"scenario": "training"})[0], truth)
    assert trained.speedup == selected.speedup
    assert trained.speedup_trained == selected.speedup_trained


def test_a_wrong_choice_shows_its_loss(truth):
    events, _, learners = log("random-configuration")
    found = compare(events, truth)
    loss = learners.real_accuracy(1) - events[-1].score
    assert found.loss == pytest.approx(loss)
    assert found.relative_loss == pytest.approx(loss / learners.real_accuracy(1))
    assert found.speedup is None  # nothing was spent


def test_configurations_that_full_run_has_not_trained_give_no_speed_up():
    small = Truth()
    small.add(log("full-run", ACCURACIES[:3])[0])
    found = compare(log("abc")[0], small)
    assert (found.speedup, found.loss) == (None, None)


def test_without_a_truth_there_is_nothing_to_compare():
    assert compare(log("abc")[0], Truth()) is None


def test_the_results_get_what_was_derived(truth):
    frame = pd.DataFrame({"key": ["a", "b"], "metrics": [{"probes": 3.0}, None]})
    found = compare(log("abc")[0], truth, key="a")
    metrics = with_metrics(frame, [found])["metrics"]
    assert metrics[0] == {
        "probes": 3.0, "speedup": found.speedup, "speedup_trained": found.speedup_trained,
        "loss": 0.0, "relative_loss": 0.0,
    }  # fmt: skip
    assert metrics[1] == {}
    assert frame["metrics"][0] == {"probes": 3.0}


def test_a_promise_is_kept_or_broken(truth):
    assert compare(log("abc")[0], truth).kept is True
    stricter = [replace(event, settings={**event.settings, "epsilon": -1.0})
             if isinstance(event, Started) else event for event in log("abc")[0]]  # fmt: skip
    assert compare(stricter, truth).kept is False


@pytest.mark.parametrize("settings", [{"time_limit": 0.5, "epsilon": 0.0}, None])
def test_nothing_is_promised_by_a_run_cut_short_or_without_epsilon(truth, settings):
    name = "abc" if settings else "successive-halving"
    assert compare(log(name, settings=settings)[0], truth).kept is None
