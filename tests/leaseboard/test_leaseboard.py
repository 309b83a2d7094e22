"""The one module that people import: lazy, complete, typed, documented."""

import importlib
import inspect
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


EXPORTED = [getattr(leaseboard, name) for name in leaseboard.__all__]
CLASSES = [each for each in EXPORTED if inspect.isclass(each)]
FUNCTIONS = [each for each in EXPORTED if inspect.isfunction(each)]
ESTIMATORS = [each for each in CLASSES if hasattr(each, "predict") or hasattr(each, "predict_one")]
INTERNAL = {"dump", "state", "restored", "check"}
"""Methods that other parts of the package call."""
STATE = {"rows", "waited", "first_clip", "clip", "counted", "clipped", "mean", "challenger",
         "champion", "peak_challenger", "peak_champion"}  # fmt: skip
"""Fields of `SequentialTest` that only `from_dict` sets."""


def sections(docstring):
    """Return the text of each section by its title."""
    parts = re.split(r"(?m)^([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.cleandoc(docstring or ""))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(docstring, title="Parameters"):
    """Return the names that a section documents, without stars."""
    lines = re.findall(r"(?m)^([*\w][\w*, ]*?)(?: :.*)?$", sections(docstring).get(title, ""))
    return {name.strip("* ") for line in lines for name in line.split(",")}


def taken(function):
    """Return the names of the parameters that callers give."""
    named = inspect.signature(function).parameters.values()
    return {each.name for each in named if each.name not in ("self", "args", "kwargs")}


def constructor(cls):
    if not inspect.isfunction(cls.__init__):  # as of an exception
        return set()
    return {name for name in taken(cls) if not name.startswith("__")}


def methods():
    """Yield the public methods of estimators that are defined in this package."""
    for cls in ESTIMATORS:
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            ours = method.__module__.startswith("leaseboard") and not name.startswith("_")
            if ours and name not in INTERNAL:
                yield pytest.param(method, id=f"{cls.__name__}.{name}")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_parameter_of_a_class_is_documented_and_each_documented_one_exists(cls):
    extra = {"SequentialTest": STATE}.get(cls.__name__, set())
    assert documented(cls.__doc__) - extra == constructor(cls) - extra


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_document_attributes_and_have_an_example(cls):
    assert {"Parameters", "Attributes", "Examples"} <= sections(cls.__doc__).keys()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_document_parameters_returns_errors_and_have_an_example(function):
    assert documented(function.__doc__) == taken(function)
    assert {"Returns", "Raises", "Examples"} <= sections(function.__doc__).keys()


@pytest.mark.parametrize("method", list(methods()))
def test_methods_document_parameters_and_returns(method):
    assert documented(method.__doc__) >= taken(method)
    returns = inspect.signature(method).return_annotation
    assert returns in (None, "None", "Self") or {"Returns"} <= sections(method.__doc__).keys()


def test_settings_of_the_flagship_are_those_of_its_algorithm():
    from leaseboard.algorithms import registry
    from leaseboard.algorithms.base import setting_names

    for cls in (leaseboard.OnlineAutoMLRegressor, leaseboard.OnlineAutoMLClassifier):
        text = sections(cls.__doc__)["Parameters"]
        named = set(re.findall(r"(?m)^    (\w+) : ", text))
        of_numbers = {"levels", "entity"}
        only = of_numbers if cls is leaseboard.OnlineAutoMLClassifier else set()
        assert named | only == {*setting_names(registry.algorithm_class("online-automl"))}
