"""Contents that were at fault once are refused in one line, or read; planted faults are found."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from leaseboard.algorithms.errors import DataError
from tests.fuzz import engine
from tests.fuzz.engine import Guard, attempt, case
from tests.fuzz.target import Target, encoded, texts
from tests.fuzz.targets import TARGETS

CORPUS = sorted(path for path in Path(__file__).with_name("corpus").glob("*/*"))
CHEAP = ("csv", "arff", "libsvm", "parquet", "live", "result")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=f"{path.parent.name}/{path.name}",
            marks=[pytest.mark.slow] if path.parent.name == "request" else [],  # it compiles
        )
        for path in CORPUS
    ],
)
def test_what_was_at_fault_is_not_any_more(path, tmp_path):
    _, fault = attempt(TARGETS[path.parent.name], path.read_bytes(), tmp_path / "case")
    assert not fault


@pytest.mark.parametrize("name", CHEAP)
def test_valid_contents_are_read_and_mutated_ones_have_no_fault(name, tmp_path):
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert all(attempt(target, each, tmp_path / "case") == (True, "") for each in seeds)
    found = [
        attempt(target, case(target, name, 1, number, seeds), tmp_path / "case")
        for number in range(len(seeds), 30)
    ]
    assert [fault for _, fault in found if fault] == []


def test_a_case_is_known_by_its_number():
    target, seeds = TARGETS["live"], list(TARGETS["live"].seeds())
    assert case(target, "live", 3, 99, seeds) == case(target, "live", 3, 99, seeds)
    assert len({case(target, "live", 3, number, seeds) for number in range(50)}) > 40


def run_a_program(content, folder):
    if content.startswith(b"x"):
        subprocess.run(["true"], check=True)


def write_elsewhere(content, folder):
    if content.startswith(b"x"):
        (folder.parent / "outside").write_bytes(content)


def take_memory(content, folder):
    if content.startswith(b"x"):
        bytearray(200 << 20)


def raise_another_error(content, folder):
    if content.startswith(b"x"):
        raise KeyError("x")


def say_too_much(content, folder):
    if content.startswith(b"x"):
        raise DataError("two\nlines")


@pytest.mark.parametrize(
    ("read", "found"),
    [(run_a_program, "subprocess.Popen"), (write_elsewhere, "writes "), (take_memory, "memory"),
     (raise_another_error, "KeyError"), (say_too_much, "more than one line")],
)  # fmt: skip
def test_a_planted_fault_is_found(read, found, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "BYTES", 100 << 20)
    seeds = [b"a"]
    target = Target(encoded("a"), texts(), read)
    guard = Guard()
    rng = Random(0)
    for _ in range(300):
        content = rng.choice((target.mutate(rng, seeds), b"x" + target.mutate(rng, seeds)))
        _, fault = attempt(target, content, tmp_path / "case", guard)
        if fault:
            break
    assert found in fault


def test_a_process_that_ends_is_a_fault_and_the_next_case_runs(tmp_path):
    """As the command does it, with a target that kills its process at one case."""
    command = [os.sys.executable, "-c", PROGRAM, str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "ended by SIGSEGV" in (tmp_path / "faults.jsonl").read_text(), done.stderr
    assert "| planted | 40 |" in done.stdout


PROGRAM = """
import os, signal, sys
from pathlib import Path
from tests.fuzz import __main__ as command
from tests.fuzz.engine import work
from tests.fuzz.target import Target, encoded, texts
from tests.fuzz.targets import TARGETS

def read(content, folder):
    if len(content) > 300:
        os.kill(os.getpid(), signal.SIGSEGV)

TARGETS["planted"] = Target(encoded("a"), texts(), read)

class Child:
    stderr = ""

def run(command, **_):
    child = os.fork()
    if child == 0:
        work("planted", 0, int(command[-2]), int(command[-1]), out)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    made = Child()
    made.returncode = os.waitstatus_to_exitcode(status)
    return made

out = Path(sys.argv[1])
command.subprocess.run = run
command.run("planted", 0, 40, out)
command.report(out)
"""
