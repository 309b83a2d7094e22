"""The one module that people import: lazy, complete, typed, and without code of its own."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leaseboard
from leaseboard.tasks.keys import closure

SOURCE = Path(leaseboard.__file__)
HEAVY = ("mlflow", "prefect", "vowpalwabbit", "lightgbm", "hyperopt", "openml", "plotly", "typer")
"""What no name needs to be imported."""
STREAMING = ("Algorithm", "ChaChaClassifier", "ChaChaRegressor", "learn_many")
"""Names that need no scikit-learn either, and no table."""


def loaded(names):
    """The modules that a fresh process has after ``from leaseboard import`` of `names`."""
    wanted = f"from leaseboard import {', '.join(names)}" if names else "import leaseboard"
    told = f"{wanted}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(subprocess.check_output([sys.executable, "-c", told], text=True)))


def typed():
    """What the type checker is told: the place of each name."""
    (block,) = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_what_is_listed_is_what_there_is():
    assert typed() == leaseboard._PLACES
    assert sorted(leaseboard.__all__) == sorted(leaseboard._PLACES)
    assert set(leaseboard.__all__) <= set(dir(leaseboard))
    assert closure._exported() == leaseboard._PLACES


@pytest.mark.parametrize("name", leaseboard.__all__)
def test_each_name_is_its_places(name):
    assert getattr(leaseboard, name) is getattr(
        importlib.import_module(leaseboard._PLACES[name]), name
    )
    assert getattr(leaseboard, name).__doc__


def test_a_star_brings_all_of_it():
    found = {}
    exec("from leaseboard import *", found)

    assert set(leaseboard.__all__) <= set(found)


def test_another_name_is_an_ordinary_error():
    with pytest.raises(ImportError, match="cannot import name 'chacha' from 'leaseboard'"):
        exec("from leaseboard import chacha")
    assert not hasattr(leaseboard, "chacha")


def test_it_has_no_code_of_its_own():
    tree = ast.parse(SOURCE.read_text())
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]

    assert functions == ["__getattr__", "__dir__"]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def test_importing_it_loads_nothing_of_ours():
    assert not {"numpy", "leaseboard.algorithms", "leaseboard.tasks"} & loaded([])


def test_names_load_nothing_heavy_that_they_do_not_need():
    assert not {*HEAVY, "sklearn", "pandas", "scipy.stats"} & loaded(STREAMING)
    assert not {*HEAVY, "numba"} & loaded(sorted({*leaseboard.__all__} - {*STREAMING, "race"}))


def test_the_example_of_the_first_page_runs(tmp_path, monkeypatch):
    page = (SOURCE.parents[1] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(from leaseboard import ChaCha.*?)```", page, re.DOTALL)
    rows = "".join(f"{k % 7},{k % 5},{k % 7 * (k % 5) + 0.5}\n" for k in range(60))
    (tmp_path / "sales.csv").write_text("price,rain,revenue\n" + rows)
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(code, found)

    assert found["found"].results[0].data == "sales.csv?target=revenue"
    assert found["model"].examples == 1
