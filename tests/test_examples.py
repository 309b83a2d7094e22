"""Every example in a docstring runs, and gives what it says."""

import ast
import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def examples(path: Path) -> int:
    """How many examples stand in a module's source, wherever they stand."""
    parser = doctest.DocTestParser()
    texts = (node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Constant) and isinstance(node.value, str))  # fmt: skip
    return sum(len(parser.get_examples(text)) for text in texts if ">>> " in text)


EXAMPLES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): count
    for top in ("algorithms", "tasks", "flows", "benchmarks")
    for path in sorted((ROOT / top).rglob("*.py"))
    if (count := examples(path))
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_give_what_they_say(name):
    found = doctest.testmod(importlib.import_module(name))  # says what differs

    assert found.failed == 0
    assert found.attempted == EXAMPLES[name]  # one that doctest cannot see would never run


def test_a_wrong_example_fails_and_one_that_cannot_be_seen_too(tmp_path, monkeypatch):
    wrong = 'def f():\n    """\n    >>> 1 + 1\n    3\n    """\n'
    unseen = 'X = 1\nNOTE = """\n>>> X\n1\n"""\n'
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in {"wrong_example": wrong, "unseen_example": unseen}.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        monkeypatch.setitem(EXAMPLES, name, examples(path))
        assert EXAMPLES[name] == 1
        with pytest.raises(AssertionError):
            test_examples_give_what_they_say(name)


def test_every_kind_of_package_has_examples():
    assert {name.partition(".")[0] for name in EXAMPLES} >= {"algorithms", "tasks", "flows"}
