"""Failpoints are named once, act when they are armed, and do nothing otherwise."""

import ast
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.machine import failpoints
from leaseboard.tasks.machine.failpoints import ACTIONS, POINTS, VARIABLE, check, reach

ROOT = Path(__file__).parents[3]


def reached():
    """Yield the name at each call of `reach` in the product."""
    for layer in ("tasks", "flows"):
        for path in (ROOT / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "reach":
                    yield ast.literal_eval(node.args[0])


def test_each_point_is_at_one_place():
    assert sorted(reached()) == sorted(POINTS)


@pytest.fixture(autouse=True)
def _no_passages():
    failpoints._passages.clear()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("run.after=kill", "unknown failpoint 'run.after': did you mean 'run.after-log'"),
        ("run.after-log=die", "an action of kill, raise, sleep, disk-full, or record=FILE"),
        ("run.after-log=kill@x", "NAME=ACTION@N"),
        ("run.after-log", "NAME=ACTION"),
        ("record=", "unknown failpoint 'record'"),
    ],
)
def test_what_names_no_failpoint_is_refused(monkeypatch, given, rule):
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(UsageError) as refused:
        check()
    assert rule in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_point_acts_from_the_passage_that_is_named(monkeypatch):
    monkeypatch.setenv(VARIABLE, "run.after-log=raise@2")
    check()
    reach("run.before-table")
    reach("run.after-log")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"failpoint run\.after-log"):
            reach("run.after-log")
    monkeypatch.setenv(VARIABLE, "run.after-table=disk-full")
    with pytest.raises(OSError, match="No space left"):
        reach("run.after-table")
    assert ACTIONS.keys() == {"kill", "raise", "sleep", "disk-full"}


def test_passages_are_recorded_and_nothing_happens_without_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, f"record={tmp_path / 'passed'}")
    check()
    for name in ("store.before-commit", "store.after-commit"):
        reach(name)
    monkeypatch.delenv(VARIABLE)
    check()
    reach("store.before-commit")
    passed = (tmp_path / "passed").read_text().split()
    assert passed == ["store.before-commit", "store.after-commit"]
