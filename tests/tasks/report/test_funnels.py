"""The pictures of one run of selection, from a real log of simulated learners."""

from __future__ import annotations

import pytest

from algorithms import registry
from algorithms.abc_selection.simulation import SimulatedLearners
from algorithms.base import play
from algorithms.benches.samples import SamplesBench
from tasks.report.funnels import funnels, verdicts

LEARNERS = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
REAL = {number: LEARNERS.real_accuracy(number) for number in range(5)}


def log(name):
    bench = SamplesBench(LEARNERS, initial_rows=100)
    return list(play(name, registry.build(name), bench, seed=1))


def test_funnels_carry_the_real_accuracy():
    figure = funnels(log("abc"), REAL)
    dashed = [trace for trace in figure.data if trace["line"].get("dash") == "dash"]
    assert sorted(trace["y"][0] for trace in dashed) == pytest.approx(
        sorted(REAL.values()), abs=1e-4
    )
    assert len(dashed) == 5


def test_without_bounds_or_truth_there_are_no_funnels():
    assert funnels(log("abc"), {}) is None
    assert funnels(log("full-run"), REAL) is None


def test_verdicts_list_everyone_in_the_order_of_pruning():
    bars, truth = verdicts(log("abc"), REAL).data
    assert len(bars["y"]) == 5
    assert bars["y"][-1].startswith("1: ")  # the champion remained
    assert set(truth["y"]) == set(bars["y"])


def test_verdicts_need_no_truth():
    assert len(verdicts(log("abc"), {}).data) == 1
