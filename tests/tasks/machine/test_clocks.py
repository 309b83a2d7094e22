"""Clocks that were changed are named, and seconds that disagree are told with both numbers."""

import importlib
import time

import pytest

from leaseboard.tasks.machine import clocks


@pytest.mark.parametrize(
    "place",
    ["time.time", "time.process_time_ns", "time.monotonic", "resource.getrusage",
     "leaseboard.tasks.machine.clocks.cpu_seconds", "leaseboard.tasks.machine.clocks.getrusage",
     "leaseboard.tasks.jobs.run.perf_counter",
     "leaseboard.tasks.jobs.run.process_time",
     "leaseboard.tasks.evaluate.trials.evaluate.perf_counter"],
)  # fmt: skip
def test_a_clock_that_was_changed_is_named_wherever_it_is(monkeypatch, place):
    importlib.import_module("leaseboard.tasks.evaluate.trials.evaluate")
    importlib.import_module("leaseboard.tasks.jobs.run")
    before = clocks.changed()
    monkeypatch.setattr(place, lambda *_: 0.0, raising=False)

    assert before == ""
    assert clocks.changed() == f"it changed {place}: an algorithm must not change the clocks"


def test_clocks_are_told_from_what_else_is_named_like_one(monkeypatch):
    monkeypatch.setattr(clocks, "time", time)
    assert clocks.changed() == ""


@pytest.mark.parametrize(
    ("told", "measured", "said"),
    [
        ((2.0, 3.0), (2.1, 3.1), ""),
        ((0.0, 3.0), (0.9, 3.0), ""),
        ((0.0, 3.0), (2.0, 3.0), "0.00 s of CPU time, the pool measured 2.00 s"),
        ((9.0, 3.0), (2.0, 3.0), "9.00 s of CPU time, the pool measured 2.00 s"),
        ((2.0, 0.0), (2.0, 9.0), "0.00 s of wall time, the pool measured 9.00 s"),
        ((100.0, 100.0), (105.0, 115.0), ""),
    ],
)
def test_a_disagreement_beyond_the_tolerance_names_both_numbers(told, measured, said):
    found = clocks.disagreement(told, measured)

    assert said in found
    assert bool(found) == bool(said)
