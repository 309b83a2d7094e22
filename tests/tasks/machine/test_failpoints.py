"""Failpoints act when they are armed, and do nothing otherwise."""

import pytest

from leaseboard.tasks.machine import failpoints
from leaseboard.tasks.machine.failpoints import VARIABLE, reach
from tests.sweep import POINTS


def test_each_point_is_at_one_place():
    assert len(POINTS) == len(set(POINTS)) > 20


def test_a_point_acts_from_the_passage_that_is_named(monkeypatch, tmp_path):
    failpoints._passages.clear()
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
