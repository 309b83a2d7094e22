"""The reference has all that people import; examples and tables of pages are those that run."""

import doctest
import importlib
import inspect
import re
import runpy

import pandas as pd
import pytest

import leaseboard
from tests.docs import pages

TEXT = (pages.DOCS / "reference" / "index.md").read_text()
NAMED = re.findall(r"^   ([a-z][\w.]+)$", TEXT, re.MULTILINE)
ON_A_PAGE = {"Algorithm", "ArmPolicy", "Policy", "Problem", "Run", "StreamEnvironment"}
"""Of these a whole page is the example."""


def test_all_that_people_import_is_there():
    own = {name.partition(".")[2] for name in NAMED if name.count(".") == 1}

    assert own == set(leaseboard.__all__)
    assert len(NAMED) == len(set(NAMED))


def test_all_is_named_in_full():
    """A module that is set for some names would precede all that come after."""
    assert "currentmodule" not in TEXT
    for name in NAMED:
        if name.count(".") > 1:
            importlib.import_module(name)


def test_each_has_an_example_that_runs():
    """tests/test_examples.py runs it."""
    names = {*leaseboard.__all__} - ON_A_PAGE
    assert [name for name in names if ">>> " not in getattr(leaseboard, name).__doc__] == []


def test_every_key_has_its_row_with_a_meaning():
    keys = runpy.run_path(str(pages.DOCS / "keys.py"))
    rows = re.findall(r"^\| `\w+` \| .+ \| .+ \| (.+) \|$", keys["page"](), re.MULTILINE)

    assert len(rows) == sum(len(kind.model_fields) for kind in keys["SECTIONS"].values())


@pytest.fixture(scope="module")
def converted():
    """Return what `docs/conf.py` makes of a docstring's lines."""
    return runpy.run_path(str(pages.DOCS / "conf.py"))["_converted"]


def documented():
    """Yield every docstring of what the page names."""
    for name in NAMED:
        module, _, attribute = name.rpartition(".")
        found = (getattr(leaseboard, attribute) if module == "leaseboard"
                 else importlib.import_module(name))  # fmt: skip
        members = [value for _, value in inspect.getmembers(found, callable)]
        yield from (inspect.cleandoc(each.__doc__) for each in (found, *members) if each.__doc__)


def test_an_example_is_published_unchanged(converted):
    for text in documented():
        examples = [line for part in doctest.DocTestParser().get_examples(text)
                    for line in (part.source + part.want).splitlines()]  # fmt: skip
        published = "\n".join(converted(text.splitlines()))
        assert [line for line in examples if line not in published] == []


PRINTED = {"guides/live-model.md": ["challenger", "True 1.0"]}
"""What a page that does not say it in comments prints; of more lines the first and the last."""
IN_COMMENTS = ("guides/stream.md",)


@pytest.mark.parametrize("name", [*PRINTED, *IN_COMMENTS])
def test_the_examples_of_a_page_print_what_it_says(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known, expected = {}, PRINTED.get(name, [])
    for block in pages.blocks(pages.DOCS / name):
        if block.language == "python":
            exec(compile(block.text, name, "exec"), known)
            if name in IN_COMMENTS:
                expected += [line.rpartition("  # ")[2] for line in block.text.splitlines()
                             if line.startswith("print") or " print(" in line]  # fmt: skip

    printed = capsys.readouterr().out.splitlines()
    if name in PRINTED:
        printed = [printed[0], *printed[1:][-1:]]
    assert printed == expected


TABLES = runpy.run_path(str(pages.DOCS / "tables.py"))
RESULTS = sorted((pages.DOCS / "results").glob("*.csv"))


def test_tables_are_made_of_the_results():
    texts = {page.name: page.read_text(encoding="utf-8") for page in TABLES["PAGES"]}

    assert sum("<!-- table: " in text for text in texts.values()) >= 3
    assert [name for name, text in texts.items() if TABLES["with_tables"](text) != text] == []


def test_results_are_small_and_say_where_they_come_from():
    assert sum(path.stat().st_size for path in RESULTS) < 5e6
    for path in RESULTS:
        table = pd.read_csv(path)
        assert [*table] == TABLES["KEPT"], path.name
        assert (
            table[["score", "commit", "machine"]][table["status"] == "ok"].notna().all(axis=None)
        )
