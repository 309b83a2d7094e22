"""Compiled kernels are kept, and never run when the code of any of them has changed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leaseboard.algorithms import caches
from leaseboard.algorithms.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]

CALLER = """
from numba import njit
from leaseboard.algorithms import callee

@njit(cache=True)
def call():
    return callee.answer()
"""

CALLEE = """
from numba import njit

@njit(cache=True)
def answer():
    return {}
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A project with one module that compiles and one that does not."""
    package = tmp_path / "algorithms"
    package.mkdir()
    (package / "kernel.py").write_text("from numba import njit\n")
    (package / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(caches, "__file__", str(package / "caches.py"))
    return package


def test_compiled_kernels_are_kept_apart_by_the_code_of_all_kernels(kernels):
    before = caches.kernel_cache()
    (kernels / "plain.py").write_text("x = 2\n")
    same = caches.kernel_cache()
    (kernels / "kernel.py").write_text("from numba import njit  # changed\n")
    changed = caches.kernel_cache()
    (kernels / "built_in.py").write_text("from numba.extending import intrinsic\n")

    assert same == before
    assert len({before, changed, caches.kernel_cache()}) == 3


def test_whatever_compiled_code_imports_tells_kernels_apart():
    """A constant or an intrinsic of another file is compiled into a kernel, too."""
    code = {path: path.read_text() for path in (ROOT / "algorithms").rglob("*.py")}
    names = {
        ".".join(("leaseboard", *path.relative_to(ROOT).with_suffix("").parts)): path
        for path in code
    }
    for path, text in code.items():
        tree = ast.parse(text)
        compiled = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any("njit" in ast.unparse(one) for one in node.decorator_list)
        ]
        used = {
            node.id for one in compiled for node in ast.walk(one) if isinstance(node, ast.Name)
        }
        used -= {
            node.id
            for one in compiled
            for node in (*ast.walk(one.args), one.returns)
            if isinstance(node, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in names:
                taken = used & {one.asname or one.name for one in node.names}
                assert not taken or "numba" in code[names[node.module]], (path, node.module, taken)


def answer_of(project, *first, **variables):
    """What `call` of the project's kernels returns in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | variables
    program = "; ".join(
        [*first, "from leaseboard.algorithms import caller", "print(caller.call())"]
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=project, env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


@pytest.mark.parametrize("first", [(), ("import numba",)])
def test_a_library_s_kernel_is_compiled_anew_when_one_that_it_calls_changes(tmp_path, first):
    package = tmp_path / "leaseboard" / "algorithms"
    package.mkdir(parents=True)
    (tmp_path / "leaseboard" / "__init__.py").touch()
    for name in ("__init__.py", "caches.py", "errors.py"):
        shutil.copy(ROOT / "algorithms" / name, package)
    (package / "caller.py").write_text(CALLER)
    variables = {"LEASEBOARD_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for answer in (1, 2):
        (package / "callee.py").write_text(CALLEE.format(answer))
        assert answer_of(tmp_path, *first, **variables) == str(answer)
        kept = min((tmp_path / "cache" / "kernels").iterdir())
        variables["NUMBA_CACHE_DIR"] = str(kept)  # as a child of that process has it


def test_a_folder_of_kernels_that_the_user_names_is_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    caches.keep_kernels_apart()
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    for name in ("LEASEBOARD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)  # as Python does where there is none

    with pytest.raises(UsageError, match=r"^~/\.cache is nowhere.* set LEASEBOARD_CACHE to"):
        caches.cache_dir()
    monkeypatch.setenv("LEASEBOARD_CACHE", "/srv/cache")
    assert caches.cache_dir() == Path("/srv/cache")
