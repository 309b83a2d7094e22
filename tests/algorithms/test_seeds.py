"""Seeds: each purpose is named in one place, so that a contract is never changed by half."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"generator", "derive_seed", "seeds.generator", "seeds.derive_seed"}


def purposes(path):
    """Yield the seeds that a module derives: their texts, with a star for parts that vary."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in NAMES:
            parts = [p.value if isinstance(p, ast.Constant) else "*" for p in node.args]
            if set(parts) != {"*"}:
                yield tuple(parts)


def test_each_purpose_of_a_seed_is_written_in_one_module():
    found = defaultdict(set)
    for top in ("algorithms", "tasks", "flows"):
        for path in (ROOT / top).rglob("*.py"):
            for purpose in purposes(path):
                found[purpose].add(str(path.relative_to(ROOT)))

    assert ("*", "samples", "order") in found
    assert {purpose: where for purpose, where in found.items() if len(where) > 1} == {}
