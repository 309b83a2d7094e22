"""The one module that people import: lazy, complete, typed, and without code of its own."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leaseboard

SOURCE = Path(leaseboard.__file__)
HEAVY = ("mlflow", "prefect", "vowpalwabbit", "lightgbm", "hyperopt", "openml", "plotly", "typer")
"""What no name needs to be imported."""
STREAMING = (
    "Algorithm",
    "ChaChaClassifier",
    "ChaChaRegressor",
    "OnlineAutoMLClassifier",
    "OnlineAutoMLRegressor",
)
"""Names that need no scikit-learn either, and no table."""

COMPILED = ("Leaderboard", "SequentialTest", "StreamEnvironment", "race")
"""Names that need kernels, or everything."""


def loaded(names):
    """Return the modules that a fresh process has after ``from leaseboard import`` of `names`."""
    wanted = f"from leaseboard import {', '.join(names)}" if names else "import leaseboard"
    reported = f"{wanted}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(subprocess.check_output([sys.executable, "-c", reported], text=True)))


def test_what_is_listed_is_what_there_is():
    assert sorted(leaseboard.__all__) == sorted(leaseboard.PLACES)
    assert set(dir(leaseboard)) == {*leaseboard.__all__, "__version__"}


def test_each_name_is_its_places():
    for name, place in leaseboard.PLACES.items():
        found = getattr(leaseboard, name)
        assert found is getattr(importlib.import_module(place), name)
        assert found.__doc__ or name == "Run"  # an alias of types has none


def test_another_name_is_an_ordinary_error():
    with pytest.raises(ImportError, match="cannot import name 'chacha' from 'leaseboard'"):
        exec("from leaseboard import chacha")
    assert not hasattr(leaseboard, "chacha")


def test_importing_it_loads_nothing_of_ours():
    assert not {"numpy", "leaseboard.algorithms", "leaseboard.tasks"} & loaded([])


def test_names_load_nothing_heavy_that_they_do_not_need():
    assert not {*HEAVY, "sklearn", "pandas", "scipy.stats"} & loaded(STREAMING)
    assert not {*HEAVY} & loaded(sorted({*leaseboard.__all__} - {*STREAMING, *COMPILED}))


def test_the_stream_of_the_first_page_is_learned():
    page = (SOURCE.parents[1] / "README.md").read_text()
    (code,) = re.findall(
        r"```python\n(from leaseboard import OnlineAutoML.*?)```", page, re.DOTALL
    )
    found = {}
    exec(code, found)
    interval = found["model"].predict_interval_one({"price": 3.5, "weekend": False}, level=0.9)

    assert found["model"].examples == 100
    assert interval[0] < 130 < interval[1]
