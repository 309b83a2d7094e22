"""Compiled kernels are kept by their content, and never run when any of their code has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms import compilation
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online import kernel, lanes

ROOT = Path(__file__).resolve().parents[2]

CALLER = """
import callee
from leaseboard.algorithms.compilation import compiled

@compiled
def call(values):
    return callee.answer(values[{at}], 1)
"""

CALLEE = """
from leaseboard.algorithms.compilation import compiled

MORE = {more}

@compiled
def answer(value, factor):
    '''{doc}'''
    if value > 10:
        raise ValueError("more than", value)
    if value < -10:
        raise ValueError("less than -10")
    return {factor} * value + MORE
"""

PROGRAM = """
import sys, numpy, caller, callee
print(caller.call(numpy.ones(2)), caller.call(numpy.frombuffer(numpy.ones(2).tobytes())))
for value in (20.0, -20.0):
    try:
        caller.call(numpy.full(2, value))
    except ValueError as error:
        print(*error.args)
print(*sorted({"numba.np.arrayobj", "numba.cpython.hashing"} & {*sys.modules}))
print(*caller.call.stats.cache_misses.values(), *callee.answer.stats.cache_misses.values())
"""

LINE = "leaseboard: compiling what this needs for the first time: up to a minute\n"


class Project:
    """Two modules of kernels, one of which calls the other, in a new folder each time."""

    def __init__(self, tmp_path):
        self.tmp_path, self.cache, self.number = tmp_path, tmp_path / "cache", 0

    def run(self, **changed):
        return self.ended(self.started(**changed))

    def started(self, more="2.0", factor="3", doc="One.", at=0, module="callee"):
        self.number += 1
        folder = self.tmp_path / str(self.number)
        folder.mkdir()
        (folder / "caller.py").write_text(CALLER.format(at=at).replace("callee", module))
        (folder / f"{module}.py").write_text(CALLEE.format(more=more, factor=factor, doc=doc))
        for path in folder.iterdir():
            os.utime(path, (self.number, self.number))
        paths = os.pathsep.join(map(str, (folder, ROOT)))
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM.replace("callee", module)],
            env=os.environ | {"LEASEBOARD_CACHE": str(self.cache), "PYTHONPATH": paths},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ended(self, process):
        out, said = process.communicate()
        values, *errors, read, misses = out.splitlines()
        assert errors == ["more than 20.0", "less than -10"]
        assert bool(read) is bool(misses)  # what only a compiler needs, a kept kernel does not
        (value,) = set(values.split())
        return float(value), misses, said


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_the_same_code_elsewhere_compiles_nothing_and_changed_code_is_compiled(project):
    assert project.run() == (5.0, "1 1", LINE)
    assert project.run(doc="Another.") == (5.0, "", "")
    assert project.run(more="4.0") == (7.0, "1 1", LINE)
    assert project.run(factor="5") == (7.0, "1 1", LINE)
    assert project.run(at=1) == (5.0, "1", LINE)  # what only kernels call was kept
    assert {path.suffix for path in (project.cache / "kernels").iterdir()} == {".kernel"}


def test_kept_code_of_a_module_that_is_elsewhere_now_is_compiled_again(project):
    assert project.run() == (5.0, "1 1", LINE)
    assert project.run(module="moved") == (5.0, "1 1", LINE)


def test_of_processes_that_start_together_one_compiles_a_kernel(project):
    ended = [project.ended(each) for each in [project.started() for _ in range(3)]]

    assert {value for value, *_ in ended} == {5.0}
    assert sorted(misses for _, misses, _ in ended) == ["", "", "1 1"]


def test_a_damaged_file_is_compiled_again_and_a_folder_that_cannot_be_is_said(project):
    project.run()
    for path in (project.cache / "kernels").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert project.run()[:2] == (5.0, "1 1")
    one, other = (project.cache / "kernels").iterdir()
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert project.run()[:2] == (5.0, "1 1")
    project.cache /= "a file"
    project.cache.touch()
    value, misses, said = project.run()
    assert (value, misses) == (5.0, "1 1")
    why, line = said.splitlines(keepends=True)
    assert why.startswith("leaseboard: each process compiles its kernels again: ")
    assert why.endswith(": set LEASEBOARD_CACHE to a folder that can be written\n")
    assert line == LINE


NUMBAS = """
import numpy
from leaseboard.algorithms.compilation import compiled

@compiled
def shaped(values, n):
    return values.reshape(n, 2).sum()

@compiled
def looked_up(name):
    return {"a": 1.0, "b": 2.0}[name] + 0.0 * (hash(name) % 3)

for call in (lambda: shaped(numpy.ones(4), 2), lambda: shaped(numpy.ones(4), 3),
             lambda: looked_up("b"), lambda: looked_up("c")):
    try:
        print(call())
    except (ValueError, KeyError) as error:
        print(type(error).__name__)
print(*shaped.stats.cache_misses.values(), *looked_up.stats.cache_misses.values())
"""


def test_numba_s_own_errors_and_hashes_work_in_kept_kernels(tmp_path):
    (tmp_path / "numbas.py").write_text(NUMBAS)
    found = []
    for _ in range(2):
        made = subprocess.run(
            [sys.executable, "numbas.py"], cwd=tmp_path, check=True, capture_output=True,
            text=True,
            env=os.environ | {"LEASEBOARD_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        found.append(made.stdout.splitlines())
    assert found[0][:-1] == found[1][:-1] == ["4.0", "ValueError", "2.0", "KeyError"]
    assert (found[0][-1], found[1][-1]) == ("1 1", "")


FACTORY = """
import sys
import numpy
from leaseboard.algorithms.compilation import compiled

def make(kind):
    @compiled
    def filled(value):
        return numpy.full(3, value).astype(kind)
    return filled

for kind in sys.argv[1:]:
    print(make(getattr(numpy, kind))(2.0).dtype)
"""


def test_kernels_of_a_factory_that_several_processes_compiled_stay_apart(tmp_path):
    (tmp_path / "factory.py").write_text(FACTORY)
    for kinds in (["int64"], ["int32"], ["int64", "int32", "int64"]):
        made = subprocess.run(
            [sys.executable, "factory.py", *kinds], cwd=tmp_path, check=True,
            capture_output=True, text=True,
            env=os.environ | {"LEASEBOARD_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert made.stdout.split() == kinds


@compiled
def total(values, start):
    for value in values:
        start += value
    return start


@compiled
def totals(values):
    return total(values, 3) + total(values, 4)


def test_one_specialisation_for_constants_and_for_read_only_arrays():
    values, shown = np.arange(3), np.arange(3)
    shown.flags.writeable = False

    assert [totals(each) for each in (values, shown)] == [13, 13]
    assert len(totals.overloads) == 1
    assert len(total.overloads) <= 1  # none where `totals` was kept by an earlier run
    assert total(shown, 3) == 6  # which only a kernel called until now


def test_what_was_compiled_first_goes_when_the_folder_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(compilation, "LIMIT", 25)
    folder = tmp_path / "kernels"
    folder.mkdir()
    for at in range(5):
        (folder / str(at)).write_bytes(b"0123456789")
        os.utime(folder / str(at), (at, at))
    assert compilation.folder.__wrapped__() == folder
    assert sorted(path.name for path in folder.iterdir()) == ["3", "4"]


@pytest.mark.parametrize("name", ["X2_MAX", "gradient_squared"])
def test_constants_and_kernels_of_other_modules_are_part_of_a_kernel(name, monkeypatch):
    before = compilation.code_of.__wrapped__(lanes.learn_group)
    monkeypatch.setattr(kernel, name, np.float32(1))

    assert compilation.code_of.__wrapped__(lanes.learn_group) != before
