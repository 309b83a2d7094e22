"""Failpoints act when they are armed, and do nothing otherwise."""

import os
import subprocess
import sys
import time

import pytest

from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.disk import BEAT, GRACE, VARIABLE, _owner, is_alive, owner, reach
from tests.sweep import POINTS


def test_each_point_is_at_one_place():
    assert len(POINTS) == len(set(POINTS)) > 20


def test_a_point_acts_from_the_passage_that_is_named(monkeypatch, tmp_path):
    disk._passages.clear()
    monkeypatch.setenv(VARIABLE, "run.after-log=raise@2")
    reach("run.before-table")
    reach("run.after-log")
    for _ in range(2):
        with pytest.raises(RuntimeError):
            reach("run.after-log")
    monkeypatch.setenv(VARIABLE, "run.after-table=disk-full")
    with pytest.raises(OSError, match="No space left"):
        reach("run.after-table")
    monkeypatch.setenv(VARIABLE, f"record={tmp_path / 'passed'}")
    reach("store.before-commit")
    monkeypatch.delenv(VARIABLE)
    reach("store.after-commit")
    assert (tmp_path / "passed").read_text().split() == ["store.before-commit"]


def test_owners_are_distinguished():
    here = owner()
    host, pid, started, boot = here.split(" ")

    assert is_alive(here)
    assert not is_alive(f"{host} {pid} {int(started) - 500} {boot}")
    assert not is_alive(f"{host} {pid} {started} another")  # the same after a reboot
    assert not is_alive(f"{host} 999999999 {started} {boot}")
    assert is_alive(f"renamed {pid} {started} {boot}")
    assert not is_alive(f"renamed {pid} {int(started) - 500} {boot}")
    assert is_alive(f"elsewhere {pid} {started} another"), "it has no heartbeat"
    for name in ("elsewhere", host):  # two containers may have one host name
        elsewhere = f"{name} {pid} {started} another"
        assert is_alive(elsewhere, time.time() - BEAT)
        assert not is_alive(elsewhere, time.time() - GRACE)
    assert not is_alive("", time.time())


def test_a_zombie_process_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = _owner(process.pid)
    assert is_alive(other)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not is_alive(other)
    process.communicate()
