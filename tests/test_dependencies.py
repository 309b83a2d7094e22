"""Every import is of a distribution that pyproject.toml declares, at a version that is locked."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {"": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}
DEV = PROJECT["dependency-groups"]["dev"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
LOCKED = dict(re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", LOCK, re.MULTILINE))
OWN = {"leaseboard", "benchmarks", "tests"}
ELSEWHERE = ("tasks/evaluate/framework_",)
"""Programs that run in environments of other libraries."""


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
        for name in set(imports(path)) - OWN - sys.stdlib_module_names:
            if not {canonicalize_name(each) for each in providers.get(name, [name])} & declared:
                found.setdefault(name, []).append(place)
    return found


def test_installed_code_imports_what_it_declares():
    declared = {name for lines in GROUPS.values() for name in names(lines)}

    assert undeclared(["algorithms", "tasks", "flows"], declared, ELSEWHERE) == {}
    assert undeclared(["benchmarks", ".ci"], declared | names(DEV)) == {}
    assert "numpy" in undeclared(["algorithms"], declared - {"numpy"})


@pytest.mark.parametrize("lines", [*(v for k, v in GROUPS.items() if k != "smac"), DEV])
def test_what_is_declared_is_locked_within_its_range(lines):
    for requirement in map(Requirement, lines):
        if requirement.name != "leaseboard":
            version = LOCKED[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement
