"""Every example in a docstring runs, and gives what it says."""

import ast
import doctest
import importlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def examples(path: Path) -> int:
    """Return the number of examples in a module's source, wherever they are."""
    source = path.read_text(encoding="utf-8")
    if ">>> " not in source:
        return 0
    texts = (node.value for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Constant) and isinstance(node.value, str))  # fmt: skip
    parser = doctest.DocTestParser()
    return sum(len(parser.get_examples(text)) for text in texts if ">>> " in text)


def wrong(folder: Path, *tops: str) -> dict[str, doctest.TestResults]:
    """Return the modules whose examples fail, which doctest prints, or are not all found."""
    found = {}
    for path in sorted(path for top in tops for path in (folder / top).rglob("*.py")):
        if count := examples(path):
            name = ".".join(path.relative_to(folder).with_suffix("").parts)
            ran = doctest.testmod(importlib.import_module(name))
            if ran != (0, count):  # one that doctest cannot see would never run
                found[name] = ran
    return found


def test_examples_give_what_they_say():
    rooms = [f"leaseboard/{name}" for name in ("algorithms", "tasks", "flows")]
    assert wrong(ROOT, *rooms, "benchmarks") == {}
