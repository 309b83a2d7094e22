import ast
import os
from pathlib import Path

import pytest

from tasks.machine import environment

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A project with one module that compiles and one that does not."""
    package = tmp_path / "algorithms"
    package.mkdir()
    (package / "kernel.py").write_text("from numba import njit\n")
    (package / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(
        environment, "__file__", str(tmp_path / "tasks" / "machine" / "environment.py")
    )
    return package


def test_compiled_kernels_are_kept_apart_by_the_code_of_all_kernels(kernels):
    before = environment.kernel_cache()
    (kernels / "plain.py").write_text("x = 2\n")
    same = environment.kernel_cache()
    (kernels / "kernel.py").write_text("from numba import njit  # changed\n")
    changed = environment.kernel_cache()
    (kernels / "built_in.py").write_text("from numba.extending import intrinsic\n")

    assert same == before
    assert len({before, changed, environment.kernel_cache()}) == 3


def test_whatever_compiled_code_imports_tells_kernels_apart():
    """A constant or an intrinsic of another file is compiled into a kernel, too."""
    code = {path: path.read_text() for path in (ROOT / "algorithms").rglob("*.py")}
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in code}
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


def test_the_user_s_own_settings_win(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    environment.prepare_environment(tmp_path)

    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "true"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".prefect")
