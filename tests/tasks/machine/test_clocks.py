"""Clocks that were changed are named, and seconds that disagree are reported with both numbers."""

import importlib
import time

from leaseboard.tasks.machine import clocks


def test_a_clock_that_was_changed_is_named_wherever_it_is(monkeypatch):
    importlib.import_module("leaseboard.tasks.evaluate.trials.evaluate")
    importlib.import_module("leaseboard.tasks.jobs.run")
    for place in (
        "time.time", "time.process_time_ns", "time.monotonic", "resource.getrusage",
        "leaseboard.tasks.machine.clocks.cpu_seconds", "leaseboard.tasks.machine.clocks.getrusage",
        "leaseboard.tasks.jobs.run.perf_counter", "leaseboard.tasks.jobs.run.process_time",
        "leaseboard.tasks.evaluate.trials.evaluate.perf_counter",
    ):  # fmt: skip
        assert clocks.changed() == ""
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda *_: 0.0, raising=False)
            said = f"it changed {place}: an algorithm must not change the clocks"
            assert clocks.changed() == said


def test_clocks_are_distinguished_from_others_of_the_same_name(monkeypatch):
    monkeypatch.setattr(clocks, "time", time)
    assert clocks.changed() == ""


def test_a_disagreement_beyond_the_tolerance_names_both_numbers():
    for reported, measured, said in (
        ((2.0, 3.0), (2.1, 3.1), ""),
        ((0.0, 3.0), (0.9, 3.0), ""),
        ((0.0, 3.0), (2.0, 3.0), "0.00 s of CPU time, the pool measured 2.00 s"),
        ((9.0, 3.0), (2.0, 3.0), "9.00 s of CPU time, the pool measured 2.00 s"),
        ((2.0, 0.0), (2.0, 9.0), "0.00 s of wall time, the pool measured 9.00 s"),
        ((100.0, 100.0), (105.0, 115.0), ""),
    ):
        found = clocks.disagreement(reported, measured)
        assert said in found
        assert bool(found) == bool(said)
