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


def test_a_wrong_example_fails_and_one_that_cannot_be_seen_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "wrong_example.py").write_text(
        'def f():\n    """\n    >>> 1 + 1\n    3\n    """\n'
    )
    (tmp_path / "unseen_example.py").write_text('X = 1\nNOTE = """\n>>> X\n1\n"""\n')

    assert wrong(tmp_path, ".") == {"wrong_example": (1, 1), "unseen_example": (0, 0)}


def test_every_kind_of_package_has_examples():
    for top in ("algorithms", "tasks", "flows"):
        assert any(map(examples, (ROOT / top).rglob("*.py"))), top
