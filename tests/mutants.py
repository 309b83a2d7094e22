"""Mutants of named modules, by cosmic-ray's operators: ``make mutants``.

Each mutant changes one place of a module, as ``<`` to ``<=``. It is killed if the module's tests
or its examples fail, or take five times their time. A seeded sample of each module runs, in a copy
of the tree. Known survivors that change nothing are in ``tests/mutants.csv``, with the reason.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "tests" / "mutants.csv"
RECORDED = "test_an_algorithm_decides_and_predicts_what_is_recorded"
MODULES = {
    "algorithms/abc_selection/bounds.py": (
        16, [f"tests/algorithms/abc_selection/test_{each}.py" for each in ("bounds", "fitness")],
    ),
    "algorithms/sequential_test.py": (16, ["tests/algorithms/test_sequential_test.py"]),
    "algorithms/online/conformal.py": (
        14, [f"tests/algorithms/{each}.py" for each in
             ("online/test_conformal", "online_automl/safe/test_coverage")],
    ),
    "algorithms/bandits.py": (
        12, ["tests/algorithms/test_bandits.py", *(
            f"tests/algorithms/test_golden_record.py::{RECORDED}[{each}]" for each in
            ("average", "ucb", "epsilon-greedy", "softmax", "max-ucb"))],
    ),
    "algorithms/policy.py": (
        10, [f"tests/algorithms/{each}" for each in
             ("test_policy.py", "test_bandits.py",
              f"test_golden_record.py::{RECORDED}[random-joint]")],
    ),
    "tasks/live/update.py": (
        6, [f"tests/tasks/live/test_{each}.py" for each in
            ("rows", "monitoring", "update", "promotion", "cycle", "erasure")],
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
PATIENCE = 5
"""Times its usual time that a test run may take."""


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


def mutated(module: str, name: str, occurrence: int) -> tuple[str, str]:
    """Return the line that a mutant changes, with what becomes of it, and the mutant's code."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    code = (ROOT / module).read_text()
    new = mutate_code(code, get_operator(name)(), occurrence)
    pairs = zip(code.splitlines(), new.splitlines(), strict=False)
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return f"{before.strip()} -> {after.strip()}", new


def copy_tree(tree: Path) -> None:
    """Copy this checkout with its kernels, which stay newer than what they are compiled from."""
    shutil.rmtree(tree, ignore_errors=True)
    unneeded = shutil.ignore_patterns(".*", "__pycache__", "runs", "mlruns")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=unneeded)


def passes(tree: Path, module: str, tests: list[str], seconds: float | None) -> bool:
    """Return whether the tests of a module pass in the copy, within the seconds."""
    words = ["-m", "pytest", "-x", "-q", "-pno:cacheprovider", *tests, "--doctest-modules", module]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run([sys.executable, *words], cwd=tree, env=environment, timeout=seconds,
                              stdout=subprocess.DEVNULL, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survivors(tree: Path, module: str, chosen: list[tuple[str, int]]) -> list[str]:
    """Run mutants of a module in the copy, and return what those change that survive."""
    tests, alive = MODULES[module][1], []
    began = time.monotonic()
    if not passes(tree, module, tests, None):
        raise SystemExit(f"{module}: its tests fail unchanged")
    most = PATIENCE * (time.monotonic() - began) + 10
    for each in chosen:
        change, code = mutated(module, *each)
        (tree / module).write_text(code)
        survives = passes(tree, module, tests, most)
        print(f"{'survives' if survives else 'killed':9}{module}: {change[:110]}", flush=True)
        alive += [change] * survives
    shutil.copy2(ROOT / module, tree / module)
    return alive


def main() -> int:
    """Run the samples of all modules, or of those named; 1 if under nine in ten are killed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="mutants of each module")
    parser.add_argument("--tree", type=Path, default=ROOT / "runs" / "mutants")
    given = parser.parse_args()
    os.nice(5)
    tree = given.tree.resolve()
    copy_tree(tree)
    with EQUIVALENT.open() as rows:
        known = {(each["module"], each["change"]) for each in csv.DictReader(rows)}
    table, code = [], 0
    for module, (most, _) in MODULES.items():
        if given.modules and not any(part in module for part in given.modules):
            continue
        every = mutants(module)
        drawn = min(given.most or most, len(every))
        chosen = Random(f"{module} {given.seed}").sample(every, drawn)
        alive = survivors(tree, module, chosen)
        same = sum((module, change) in known for change in alive)
        killed = drawn - len(alive)
        share = killed / max(1, drawn - same)
        code |= share < 0.9
        numbers = f"{len(every):,} | {drawn} | {killed} | {same} | {len(alive) - same}"
        table.append(f"| `{module}` | {numbers} | {share:.0%} |")
    print("| module | mutants | drawn | killed | change nothing | survive | killed of the rest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(table))
    return code


if __name__ == "__main__":
    sys.exit(main())
