"""First lines of docstrings: an imperative verb for a function, a noun phrase for a class.

Ruff's D401 finds the verbs that it knows in another form; here are the words that it lets pass.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("algorithms", "tasks", "flows", "leaseboard", "benchmarks", "tests")
NO_VERBS = {
    "a", "all", "an", "any", "both", "each", "every", "everything", "four", "if", "in", "it",
    "neither", "no", "nothing", "of", "one", "that", "the", "there", "this", "three", "two",
    "what", "when", "where", "whether", "which", "who", "with",
}  # fmt: skip
NOUNS_TOO = {
    "answer", "change", "end", "estimate", "fit", "lease", "probe", "process", "race", "record",
    "report", "run", "scale", "score", "search", "share", "test", "update", "work",
}  # fmt: skip
"""Verbs that begin docstrings of functions, and that a class may begin with as nouns."""


def first_words():
    """Yield kind, place and first word of each docstring, possessives and names of code apart."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                    word = ast.get_docstring(node).split()[0].strip(".,:;()").lower()
                    place = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {word}"
                    yield kind_of(node), place, word


def kind_of(node):
    if isinstance(node, ast.ClassDef):
        return "class"
    decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    return "property" if "property" in decorators or node.name.startswith("test_") else "function"


@pytest.fixture(scope="module")
def found():
    return list(first_words())


def test_functions_begin_with_a_verb(found):
    assert len(found) > 3000
    others = [
        place
        for kind, place, word in found
        if kind == "function" and (word in NO_VERBS or "'" in word)
    ]
    assert not others, "\n".join(others)


def test_classes_begin_with_a_noun_phrase(found):
    verbs = {word for kind, _, word in found if kind == "function"} - NOUNS_TOO
    others = [place for kind, place, word in found if kind == "class" and word in verbs]
    assert not others, "\n".join(others)
