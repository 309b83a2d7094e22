"""The layers: algorithms know nobody, tasks know algorithms, flows both; leaseboard hands on."""

import ast
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "algorithms": {"tasks", "flows", "benchmarks", "leaseboard", "prefect", "mlflow", "openml",
                   "requests", "socket", "time", "datetime", "urllib", "random", "typer", "rich",
                   "dask", "distributed", "subprocess", "multiprocessing", "concurrent", "?"},
    "tasks": {"flows", "benchmarks", "leaseboard", "prefect", "typer"},
    "flows": {"benchmarks", "leaseboard"},
    "leaseboard": {"flows", "benchmarks"},
    "benchmarks": set(),
}  # fmt: skip
MODULES = [path for top in FORBIDDEN for path in sorted((ROOT / top).rglob("*.py"))]


STARTED = ROOT / "leaseboard" / "__main__.py"
"""Python runs it: it is the command line."""
STEPS = ROOT / "tasks" / "steps" / "prefect_tasks.py"
"""The one place below the flows that knows Prefect: what others compose flows of."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {room(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {room(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"}:
            name = node.args[0]
            name = name.values[0] if isinstance(name, ast.JoinedStr) else name
            known = isinstance(name, ast.Constant) and isinstance(name.value, str)
            found.add(room(name.value) if known else "?")
    return found


def room(module: str) -> str:
    """What a rule names: the package, of ours the room."""
    first, second = (*module.split("."), "")[:2]
    return second if first == "leaseboard" and second in FORBIDDEN else first


def called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


ANYTHING = {ROOT / "algorithms" / "registry.py"}
"""It imports what its own table names, which `test_registry` reads."""


def test_modules_keep_to_their_layer():
    found = {}
    for path in set(MODULES) - {STARTED}:
        excused = {"random"} if path.name == "checks.py" else {"?"} if path in ANYTHING else set()
        excused |= {"prefect"} if path == STEPS else set()
        wrong = imports(path) & (FORBIDDEN[path.relative_to(ROOT).parts[0]] - excused)
        if wrong:
            found[str(path)] = wrong

    assert found == {}


def test_the_kind_of_a_bench_is_known_in_its_own_room_alone():
    """Who needs to know more of it than its name asks `leaseboard.tasks.jobs.benches.kinds`."""
    found = [
        f"{path}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).strip("()[]'").endswith("bench")
        for each in node.comparators
        if any(isinstance(named, ast.Constant) for named in getattr(each, "elts", [each]))
    ]

    assert found == []


def test_no_file_name_stands_in_three_rooms():
    rooms = defaultdict(set)
    for path in MODULES:
        if not path.stem.startswith("__"):
            rooms[path.name].add(str(path.parent.relative_to(ROOT)))

    assert {name: found for name, found in rooms.items() if len(found) > 2} == {}


ONE_ROLE = {"Options"}
"""What each bench, by its own module, may be told."""


def test_no_class_name_means_two_things():
    homes = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: found for name, found in homes.items() if len(found) > 1}

    assert {name: twice[name] for name in twice.keys() - ONE_ROLE} == {}


def test_modules_are_documented():
    assert [path for path in MODULES if not ast.get_docstring(tree(path))] == []


def test_modules_are_short():
    assert [path for path in MODULES if len(path.read_text("utf-8").splitlines()) > 500] == []


def test_algorithms_shadow_no_module_of_python():
    top = [path for path in MODULES if path.parent == ROOT / "algorithms"]

    assert [path for path in top if path.stem in sys.stdlib_module_names] == []


def test_global_random_state_is_never_touched():
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called = ast.unparse(node.func)
                assert called not in {"np.random.seed", "numpy.random.seed", "random.seed"}, path
                if called.startswith(("np.random.", "numpy.random.")):
                    drawn = called.rpartition(".")[2]
                    assert drawn in {"default_rng", "RandomState", "SeedSequence", "Generator",
                                     "PCG64", "get_state"}, f"{path}: {called}"  # fmt: skip


CHILD = ROOT / "tasks" / "score" / "gate" / "child.py"
"""It answers another process of ours, line by line."""


def test_nothing_reaches_a_terminal_but_through_the_one_function():
    """`machine.terminal` shows what a terminal would obey, and hides what none should see."""
    for path in MODULES:
        if path.name in {"terminal.py", "console.py"} or path == CHILD:
            continue
        if path.is_relative_to(ROOT / "benchmarks"):  # what they print is what they measured
            continue
        for node in ast.walk(tree(path)):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in {"typer.echo", "typer.secho", "click.echo", "rprint"}, (
                f"{path}: print with leaseboard.flows.console.say"
            )
            assert called.rpartition(".")[2] not in {"print", "print_exc", "print_exception"}, (
                f"{path}: print with leaseboard.flows.console.say, lay out with"
                " leaseboard.tasks.machine.terminal.show"
            )
            assert called not in {"Text", "rich.text.Text", "Text.from_markup"}, (
                f"{path}: make it with leaseboard.tasks.machine.terminal.cell"
            )


def test_tests_hold_no_init_files():
    assert not list((ROOT / "tests").rglob("__init__.py"))


UNPICKLES = {
    "algorithms/checks.py",
    "algorithms/chacha/streaming/pickles.py",
    "tasks/evaluate/trials/evaluate.py",
    "tasks/evaluate/trials/worker.py",
}
"""A copy that was pickled the moment before; what came in a pickle that was unpickled already;
messages between our own two processes."""


def test_nothing_from_outside_is_unpickled_or_evaluated():
    found = set()
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            assert called not in {"eval", "exec", "joblib.load", "torch.load", "yaml.unsafe_load",
                                  "yaml.full_load", "pd.read_pickle"}, path  # fmt: skip
            assert keywords.get("allow_pickle", "False") == "False", path
            assert keywords.get("trusted") != "True", path
            if called == "yaml.load":
                assert keywords["Loader"] == "_Loader", path  # a SafeLoader that names lines
            if called.startswith("pickle.") and called.startswith("load", len("pickle.")):
                found.add(str(path.relative_to(ROOT)))

    assert found == UNPICKLES
