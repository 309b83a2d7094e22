"""Contents that were at fault once, and mutated ones, are read or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaseboard.algorithms.errors import DataError
from tests.fuzz.engine import attempt, case
from tests.fuzz.target import Target, encoded, texts
from tests.fuzz.targets import TARGETS

CORPUS = sorted(path for path in Path(__file__).with_name("corpus").glob("*/*"))
SLOW = "learn", "log", "model", "request", "suite"
"""Targets that compile, or take seconds."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=f"{path.parent.name}/{path.name}",
            marks=[pytest.mark.slow] if path.parent.name in SLOW else [],
        )
        for path in CORPUS
    ],
)
def test_what_was_at_fault_is_not_any_more(path, tmp_path):
    _, fault = attempt(TARGETS[path.parent.name], path.read_bytes(), tmp_path / "case")
    assert not fault


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in TARGETS],
)
def test_valid_contents_are_read_and_mutated_ones_have_no_fault(name, tmp_path):
    target = TARGETS[name]
    seeds = list(target.seeds())
    for number, content in enumerate(seeds):
        assert attempt(target, content, tmp_path / f"seed {number}") == (True, "")
    mutated = [case(target, name, number, seeds) for number in range(30)]
    found = [attempt(target, each, tmp_path / f"{number}") for number, each in enumerate(mutated)]
    assert [fault for _, fault in found if fault] == []


def raise_another_error(content, folder):
    raise KeyError("x")


def say_too_much(content, folder):
    raise DataError("two\nlines")


@pytest.mark.parametrize(
    ("read", "found"), [(raise_another_error, "KeyError"), (say_too_much, "more than one line")]
)
def test_a_planted_fault_is_found(read, found, tmp_path):
    _, fault = attempt(Target(encoded("a"), texts(), read), b"a", tmp_path / "case")
    assert found in fault
