"""Mutants of named modules, by cosmic-ray's operators: ``make mutants``.

Each mutant changes one place of a module, as ``<`` to ``<=``. It is killed if the module's tests
or its examples fail, or take five times their time. A seeded sample of each module runs, in a copy
of the tree. Each mutant is a fork of a process that has imported all but the module and what
depends on it. Results are lines of ``mutants.jsonl``, so a run that is stopped goes on when it is
repeated. Known survivors that change nothing are in ``tests/mutants.csv``, with the reason.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "tests" / "mutants.csv"
MODULES = {
    "algorithms/abc_selection/bounds.py": (16, ["tests/algorithms/abc_selection/test_bounds.py"]),
    "algorithms/sequential_test.py": (16, ["tests/algorithms/test_sequential_test.py"]),
    "algorithms/online/conformal.py": (
        14, [f"tests/algorithms/{each}.py" for each in
             ("online/test_conformal", "online_automl/safe/test_coverage")],
    ),
    "algorithms/policies/bandits.py": (12, ["tests/algorithms/policies/test_bandits.py"]),
    "algorithms/policies/policy.py": (
        10, [f"tests/algorithms/policies/test_{each}.py" for each in ("policy", "bandits")],
    ),
    "tasks/live/update.py": (
        6, [f"tests/tasks/live/test_{each}.py" for each in
            ("rows", "odd_batches", "update", "promotion", "cycle")],
    ),
}  # fmt: skip
"""By module, how many mutants are drawn, and the tests that are to kill them."""
LEFT_OUT = (
    "ReplaceBinaryOperator_BitOr",
    "RemoveDecorator",
    "VariableReplacer",
    "VariableInserter",
)
"""Operators on ``|``, which is in annotations, and on decorators; and two that make what no person
writes."""
QUIETLY = ("-x", "-q", "-pno:cacheprovider", "-Wignore::pytest.PytestAssertRewriteWarning")
PATIENCE = 5
"""Times its usual CPU time that a test run may take."""


class Mutant(NamedTuple):
    """One change of one place."""

    operator: str
    occurrence: int
    line: int
    text: str
    """The line that is changed, and what becomes of it."""


def mutants(module: str) -> list[tuple[str, int]]:
    """Return all mutants of a module: the operator, and which of its places."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes = list(ast_nodes(get_ast((ROOT / module).read_text())))
    found = []
    for name in sorted(operator_names()):
        if not any(each in name for each in LEFT_OUT):
            operator = get_operator(name)()
            count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            found += [(name, occurrence) for occurrence in range(count)]
    return found


def mutated(module: str, name: str, occurrence: int) -> tuple[Mutant, str]:
    """Return a mutant with its code."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    code = (ROOT / module).read_text()
    new = mutate_code(code, get_operator(name)(), occurrence)
    pairs = zip(code.splitlines(), new.splitlines(), strict=False)
    at, (before, after) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return Mutant(name, occurrence, at, f"{before.strip()} -> {after.strip()}"), new


def copy_tree(to: Path) -> None:
    """Copy what git knows to a folder, and the kernels, which are those of this checkout."""
    to.mkdir(parents=True, exist_ok=True)
    packed = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=packed.stdout, mode="r|") as archive:
        archive.extractall(to, filter="tar")
    packed.wait()
    kernels = Path("leaseboard", "_kernels")
    shutil.copytree(ROOT / kernels, to / kernels, dirs_exist_ok=True)
    (to / kernels / "digests.json").touch()  # newer than what they are compiled from


def tested(module: str, tests: list[str], seconds: float) -> tuple[int, float]:
    """Return the exit status of the tests in a fork, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        with Path("tests.log").open("w") as silent:
            os.dup2(silent.fileno(), 1)
            os.dup2(silent.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        import pytest

        os._exit(int(pytest.main([*QUIETLY, *tests, "--doctest-modules", module])))
    _, status = os.waitpid(child, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return os.waitstatus_to_exitcode(status), taken


def run(module: str, most: int, tests: list[str], seed: int, out: Path) -> None:
    """Run a sample of the mutants of a module, in the copy of the tree, which is our folder."""
    place = out / "mutants.jsonl"
    lines = [json.loads(line) for line in place.open()] if place.exists() else []
    done = {(each["module"], each["operator"], each["occurrence"]) for each in lines}
    every = mutants(module)
    chosen = Random(f"{module} {seed}").sample(every, min(most, len(every)))
    rest = [each for each in chosen if (module, *each) not in done]
    if not rest:
        return
    name = "leaseboard." + module.removesuffix(".py").replace("/", ".")
    sys.path.insert(0, str(Path.cwd()))
    imported = importlib.import_module(name).__file__  # what it needs, and then not itself
    if not Path(module).samefile(str(imported)):
        raise SystemExit(f"{imported} is imported, not the copy that is changed")
    for heavy in ("pytest", "hypothesis", "pandas", "scipy.stats", "sklearn"):
        importlib.import_module(heavy)
    parent, _, own = name.rpartition(".")
    del sys.modules[name]
    vars(sys.modules[parent]).pop(own, None)
    file = Path(module)
    original = (ROOT / module).read_text()
    file.write_text(original)
    status, usual = tested(module, tests, 600)
    if status:
        raise SystemExit(
            f"{module}: its tests fail unchanged:\n{Path('tests.log').read_text()[-3000:]}"
        )
    for each in rest:
        mutant, code = mutated(module, *each)
        file.write_text(code)
        began = time.monotonic()
        status, taken = tested(module, tests, PATIENCE * usual + 10)
        how = "survived" if status == 0 else "killed" if status == 1 else f"killed ({status})"
        found: dict[str, Any] = {
            "module": module, "of": len(every), "seed": seed, **mutant._asdict(), "outcome": how,
            "cpu_seconds": round(taken, 1),
        }  # fmt: skip
        with place.open("a") as lines_file:
            lines_file.write(json.dumps(found) + "\n")
        print(f"{how:9} {module}:{mutant.line}: {mutant.text[:110]}"
              f" ({taken:.1f} s, {time.monotonic() - began:.0f} s)", flush=True)  # fmt: skip
    file.write_text(original)


def report(out: Path) -> int:
    """Print the table and the survivors; return 1 if fewer than nine in ten are killed."""
    with EQUIVALENT.open() as rows:
        known = {(each["module"], each["change"]): each["reason"] for each in csv.DictReader(rows)}
    lines = [json.loads(line) for line in (out / "mutants.jsonl").open()]
    print("| module | mutants | drawn | killed | change nothing | survive | killed of the rest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    code, alive = 0, []
    for module in MODULES:
        mine = [each for each in lines if each["module"] == module]
        if not mine:
            continue
        left = [each for each in mine if each["outcome"] == "survived"]
        same = [each for each in left if (module, each["text"]) in known]
        killed = len(mine) - len(left)
        share = killed / max(1, len(mine) - len(same))
        code |= share < 0.9
        print(f"| `{module}` | {mine[0]['of']:,} | {len(mine)} | {killed} | {len(same)}"
              f" | {len(left) - len(same)} | {share:.0%} |")  # fmt: skip
        alive += [each for each in left if each not in same]
    for each in alive:
        print(f"survives: {each['module']}:{each['line']}: {each['text']}")
    return code


def main() -> int:
    """Run the samples of all modules, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="mutants of each module")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "mutants")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    out = given.out.resolve()
    chosen = {name: each for name, each in MODULES.items()
              if not given.modules or any(part in name for part in given.modules)}  # fmt: skip
    if given.inside:
        ((name, (most, tests)),) = chosen.items()
        run(name, given.most or most, tests, given.seed, out)
        return 0
    os.nice(5)
    tree = out / "tree"
    copy_tree(tree)
    path = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    for name in chosen:
        command = [sys.executable, str(ROOT / "tests" / "mutants.py"), name, "--inside",
                   "--seed", str(given.seed), "--out", str(out)]  # fmt: skip
        command += ["--most", str(given.most)] if given.most else []
        subprocess.run(command, cwd=tree, env=environment, check=True)
    print(dict(Counter(json.loads(each)["outcome"] for each in (out / "mutants.jsonl").open())))
    return report(out)


if __name__ == "__main__":
    sys.exit(main())
