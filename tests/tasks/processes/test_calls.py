"""A child may return, raise, die, run away or sleep; the parent always gets an outcome."""

from __future__ import annotations

import time

from leaseboard.tasks.processes import forks


def spin():
    while True:
        pass


def raise_two_lines():
    raise ValueError("first line\nsecond line")


def exhaust():
    raise MemoryError("too large")


def test_a_value_comes_back_with_its_cost():
    called = forks.call(lambda: sum(range(10**6)), cpu_seconds=60)
    assert (called.ending.status, called.value) == ("ok", 499999500000)
    assert 0 < called.cpu_seconds < 60


def test_an_exception_is_a_crash_with_one_line_of_reason():
    outcome = forks.call(raise_two_lines, cpu_seconds=60).ending
    assert (outcome.status, outcome.reason) == ("crash", "ValueError: first line")


def test_out_of_memory_is_distinguished():
    ending = forks.call(exhaust, cpu_seconds=60).ending
    assert (ending.status, ending.lasting) == ("memout", False)


def test_a_loop_without_end_is_stopped_by_its_cpu_time():
    called = forks.call(spin, cpu_seconds=0.5)
    assert called.ending.status == "timeout"
    assert "0.5 s of CPU" in called.ending.reason
    assert called.cpu_seconds == 0.5


def test_a_sleeper_is_stopped_by_the_wall_clock(monkeypatch):
    monkeypatch.setattr(forks, "WALL_GRACE", 0.2)
    called = forks.call(lambda: time.sleep(600), cpu_seconds=0.01)
    assert called.ending.status == "timeout"
    assert called.wall_seconds < 300
