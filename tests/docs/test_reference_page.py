"""The reference has all that people import, each with an example, and modules by full names."""

import importlib
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import leaseboard

pages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("pages.py"))))
TEXT = (pages.DOCS / "reference" / "index.md").read_text()
NAMED = re.findall(r"^   ([a-z][\w.]+)$", TEXT, re.MULTILINE)
ON_A_PAGE = {"Algorithm"}
"""Of these a whole page is the example."""


def test_all_that_people_import_is_there():
    own = {name.partition(".")[2] for name in NAMED if name.startswith("leaseboard.")}

    assert own == set(leaseboard.__all__)
    assert len(NAMED) == len(set(NAMED))


def test_all_is_named_in_full():
    """A module that is set for some names would stand before all that come after."""
    assert "currentmodule" not in TEXT
    for name in NAMED:
        if not name.startswith("leaseboard."):
            importlib.import_module(name)


@pytest.mark.parametrize("name", sorted({*leaseboard.__all__} - ON_A_PAGE))
def test_each_has_an_example_that_runs(name):
    assert ">>> " in getattr(leaseboard, name).__doc__, "tests/test_examples.py runs it"
