"""The reference has all that people import, each with an example, and modules by full names."""

import doctest
import importlib
import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import leaseboard
from leaseboard.tasks.jobs.benches.kinds import KINDS

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
TEXT = (pages.DOCS / "reference" / "index.md").read_text()
NAMED = re.findall(r"^   ([a-z][\w.]+)$", TEXT, re.MULTILINE)
ON_A_PAGE = {"Algorithm"}
"""Of these a whole page is the example."""


def test_all_that_people_import_is_there():
    own = {name.partition(".")[2] for name in NAMED if name.count(".") == 1}

    assert own == set(leaseboard.__all__)
    assert len(NAMED) == len(set(NAMED))


def test_all_is_named_in_full():
    """A module that is set for some names would stand before all that come after."""
    assert "currentmodule" not in TEXT
    for name in NAMED:
        if name.count(".") > 1:
            importlib.import_module(name)


def test_every_environment_is_there():
    assert {f"leaseboard.algorithms.benches.{kind}" for kind in KINDS} <= set(NAMED)


@pytest.mark.parametrize("name", sorted({*leaseboard.__all__} - ON_A_PAGE))
def test_each_has_an_example_that_runs(name):
    assert ">>> " in getattr(leaseboard, name).__doc__, "tests/test_examples.py runs it"


@pytest.fixture(scope="module")
def converted():
    """What `docs/conf.py` makes of a docstring's lines."""
    return runpy.run_path(str(pages.DOCS / "conf.py"))["_converted"]


@pytest.mark.parametrize("name", sorted({*NAMED}))
def test_an_example_is_published_as_it_stands(converted, name):
    module, _, attribute = name.rpartition(".")
    found = (
        getattr(leaseboard, attribute) if module == "leaseboard" else importlib.import_module(name)
    )
    documented = [found, *(value for _, value in inspect.getmembers(found, callable))]
    for text in filter(None, (each.__doc__ for each in documented)):
        examples = [line for part in doctest.DocTestParser().get_examples(inspect.cleandoc(text))
                    for line in (part.source + part.want).splitlines()]  # fmt: skip
        published = "\n".join(converted(inspect.cleandoc(text).splitlines()))
        assert all(line in published for line in examples)


def test_sizes_are_escaped_outside_of_examples_alone(converted):
    lines = ["The size |S|.", "", '>>> "1 |a x:2 |b"', "'|a|'", "", "And |T|."]
    assert list(converted(lines)) == [r"The size \|S\|.", *lines[1:5], r"And \|T\|."]
