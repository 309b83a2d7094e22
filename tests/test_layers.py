"""The layers of pyproject.toml, as import-linter checks them, and that they see a breach."""

import contextlib
import io
import shutil
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
BREACHES = {
    "algorithms/base.py": ("import leaseboard.tasks.steps", "import time"),
    "tasks/jobs.py": ("import leaseboard.flows.cli", "import prefect", "import benchmarks.drill"),
    "flows/cli.py": ("import benchmarks.drill",),
    "__init__.py": ("from leaseboard.flows import cli",),
}


def check(folder):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = lint_imports(config_filenames=(str(folder / "pyproject.toml"),), no_cache=True)
    return code, said.getvalue()


def test_contracts_hold():
    code, said = check(ROOT)

    assert code == 0, said


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a tree of the same layers with a module each, imported in the place of ours."""
    modules = ("algorithms/checks", "algorithms/base", "tasks/jobs", "tasks/steps/prefect_tasks")
    for module in (*modules, "flows/cli", "__main__", "../benchmarks/drill"):
        path = tmp_path / "leaseboard" / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for folder in (tmp_path / "benchmarks", *(tmp_path / "leaseboard").rglob("*")):
        if folder.is_dir():
            (folder / "__init__.py").touch()
    (tmp_path / "leaseboard/__init__.py").touch()
    (tmp_path / "leaseboard/algorithms/checks.py").write_text("import random")
    (tmp_path / "leaseboard/tasks/steps/prefect_tasks.py").write_text("import prefect")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in [*sys.modules]:
        if name.partition(".")[0] in {"leaseboard", "benchmarks"}:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_each_breach_is_seen(small):
    assert check(small)[0] == 0
    unseen = []
    for module, lines in BREACHES.items():
        path = small / "leaseboard" / module
        for line in lines:
            path.write_text(line)
            if check(small)[0] != 1:
                unseen.append((module, line))
        path.write_text("")
    assert unseen == []
