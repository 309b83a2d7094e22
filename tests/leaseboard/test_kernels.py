"""Compiled kernels: found under one name, never stale, the same bits for every processor."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leaseboard import kernels

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "algorithms").rglob("*.p[yx][xd]"))


def test_every_kernel_is_one_module_under_one_name():
    names = [
        ".".join(("leaseboard", *path.relative_to(ROOT).with_suffix("").parts))
        for path in SOURCES
        if path.suffix == ".pyx"
    ]
    names.append("leaseboard.algorithms.cython_utilities")  # what all of them share
    code = (
        "import importlib, sys\n"
        f"for name in {names}: importlib.import_module(name)\n"
        "files = [m.__file__ for m in sys.modules.values()"
        " if '_kernels' in (getattr(m, '__file__', None) or '')]\n"
        "print(len(files), len({*files}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [str(len(names))] * 2
    for other in ("algorithms.transcendental", "transcendental"):
        code = f"import leaseboard.algorithms.transcendental, {other}"
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        assert done.returncode == 1


@pytest.mark.parametrize(("built", "says"), [(True, "has changed since"), (False, "not compiled")])
def test_a_kernel_that_is_not_compiled_as_its_source_is_refused(
    tmp_path, monkeypatch, built, says
):
    source, record = (
        tmp_path / "algorithms" / "a.pyx",
        tmp_path / "leaseboard/_kernels/digests.json",
    )
    record.parent.mkdir(parents=True)
    source.parent.mkdir()
    source.touch()
    if built:
        record.touch()
        os.utime(record, (1, 1))
    monkeypatch.setattr(kernels, "FOLDER", record.parent)
    (tmp_path / "hatch_build.py").touch()

    with pytest.raises(ImportError, match=says):
        kernels.KernelFinder().find_spec("leaseboard.algorithms.a")


def test_kernels_import_the_science_alone():
    """And Python's own library; the contracts of pyproject.toml see Python files alone."""
    others = "|".join(("libc", "cpython", "cython", "numpy", *sys.stdlib_module_names))
    allowed = re.compile(rf"(leaseboard\.algorithms|{others})\b")
    found = [
        (path.name, line)
        for path in SOURCES
        for line in path.read_text().splitlines()
        if (
            named := re.match(r"\s*(?:from|import|cimport)\s+([\w.]+)(?:\s+c?import\b|\s*$)", line)
        )
        and not allowed.match(named[1])
    ]

    assert SOURCES
    assert found == []


def test_a_kernel_is_compiled_again_after_a_change_of_what_it_declares():
    """Also of a module that is declared whole, as in ``from leaseboard.algorithms cimport x``."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    before, declared = build.digests(), ROOT / "leaseboard" / "algorithms" / "elementary.pxd"
    read = Path.read_bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path == declared))
        after = build.digests()
    changed = {name.rpartition(".")[2] for name in before if before[name] != after[name]}

    assert {"transcendental", "kernel", "bayes"} <= changed
    assert "row_reader" not in changed
