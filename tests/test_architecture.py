"""The rules of the house: layers, names, sizes, what reaches a terminal, what is unpickled."""

import ast
import contextlib
import io
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("algorithms", "tasks", "flows", "leaseboard", "benchmarks")
MODULES = [path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))]
COMPUTED = {
    "algorithms": set(),
    "tasks": {"any", "leaseboard.algorithms", "leaseboard.tasks"},
    "flows": {"any", "leaseboard.algorithms", "leaseboard.tasks", "leaseboard.flows"},
}
"""Where the names may begin that a layer puts together and imports; the import-linter contracts of
pyproject.toml see import statements alone."""

NAMED = {ROOT / "algorithms" / name for name in ("registry.py", "plugins.py")}
"""What its own table names, which `test_registry` reads; plugins."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def computed_imports(path: Path) -> set[str]:
    """Return the modules of ours that functions import, as far as their names are literal."""
    found = set()
    for node in ast.walk(tree(path)):
        called = node.func if isinstance(node, ast.Call) else None
        if getattr(called, "attr", getattr(called, "id", "")) in {"import_module", "__import__"}:
            name = node.args[0]
            name = name.values[0] if isinstance(name, ast.JoinedStr) else name
            known = isinstance(name, ast.Constant) and isinstance(name.value, str)
            found.add(".".join(name.value.split(".")[:2]) if known else "any")
    return {name for name in found if name == "any" or name.startswith("leaseboard")}


def test_computed_imports_keep_to_their_layer():
    found = {
        str(path): computed_imports(path) - COMPUTED.get(path.relative_to(ROOT).parts[0], set())
        for path in MODULES
        if path.relative_to(ROOT).parts[0] in COMPUTED and path not in NAMED
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_the_names_that_leaseboard_offers_are_for_its_users():
    found = [
        str(path)
        for path in MODULES
        for node in ast.walk(tree(path))
        if path.relative_to(ROOT).parts[0] in COMPUTED
        and (
            (isinstance(node, ast.ImportFrom) and node.module == "leaseboard")
            or (isinstance(node, ast.Import) and "leaseboard" in [x.name for x in node.names])
        )
    ]

    assert found == []


ONE_ROLE = {"Options"}
"""Classes that each environment has in its own module: its options."""


def test_no_class_name_means_two_things():
    homes = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: found for name, found in homes.items() if len(found) > 1}

    assert {name: twice[name] for name in twice.keys() - ONE_ROLE} == {}


def test_modules_are_short():
    assert [path for path in MODULES if len(path.read_text("utf-8").splitlines()) > 500] == []


def test_nothing_reaches_a_terminal_but_through_the_one_function():
    """`machine.terminal` shows what a terminal would obey, and hides what none should see."""
    for path in MODULES:
        if path.name in {"terminal.py", "console.py"}:
            continue
        if path.is_relative_to(ROOT / "benchmarks"):  # what they print is what they measured
            continue
        for node in ast.walk(tree(path)):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in {"typer.echo", "typer.secho", "click.echo", "rprint"}, (
                f"{path}: print with leaseboard.flows.console.say"
            )
            assert called.rpartition(".")[2] not in {"print", "print_exc", "print_exception"}, (
                f"{path}: print with leaseboard.flows.console.say"
            )


UNPICKLES = {
    "tasks/evaluate/frameworks.py",
    "tasks/evaluate/trials.py",
    "tasks/jobs/prepared.py",
    "tasks/pool/worker.py",
    "tasks/processes/child.py",
}
"""What came in a pickle that was unpickled already; messages between our own two processes; data
that this run wrote for its own jobs."""


def test_nothing_from_outside_is_unpickled_or_evaluated():
    found = set()
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            assert called not in {"eval", "exec", "torch.load", "yaml.unsafe_load",
                                  "yaml.full_load", "pd.read_pickle"}, path  # fmt: skip
            assert keywords.get("allow_pickle", "False") == "False", path
            assert keywords.get("trusted") != "True", path
            if called == "yaml.load":
                assert keywords["Loader"] == "_Loader", path  # a SafeLoader that names lines
            if called.startswith(("joblib.load", "pickle.load")):
                found.add(str(path.relative_to(ROOT)))

    assert found == UNPICKLES


CONTRACTS = Path(__file__).resolve().parents[1] / "pyproject.toml"


def test_contracts_hold():
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = lint_imports(config_filenames=(str(CONTRACTS),), no_cache=True)

    assert code == 0, said.getvalue()


ROOMS = ("algorithms", "flows", "tasks")

IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, "")  # the root of the checkout, as under pytest and python -m
import leaseboard
names = [found.name for found in pkgutil.walk_packages(leaseboard.__path__, "leaseboard.")]
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:  # an extra, or a framework, that is not installed
            assert error.name.partition(".")[0] not in {"leaseboard", *%(rooms)r}, (name, error)
print(len(names), *(name for name in sys.modules if name.partition(".")[0] in %(rooms)r))
"""


def test_each_module_has_one_name_and_can_be_imported():
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT_ALL % {"rooms": ROOMS}],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = [path for room in (*ROOMS, "leaseboard") for path in (ROOT / room).rglob("*.py")]

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [str(len(files) - 1)]  # all but leaseboard itself
