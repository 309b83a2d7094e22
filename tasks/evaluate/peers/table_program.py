"""Runs in a system's environment: ``inside.py table_program SYSTEM FOLDER``.

It imports nothing of Leaseboard; the file beside it that is named for a system sets that up, where
there is one. It reads ``request.json`` (seed, task, seconds, and what the columns are) and
``data.npz`` (the columns of the training and of the test rows, and the training rows' labels) from
the folder, lets the system learn, and writes ``forecasts.npy`` and ``answer.json``: the seconds
before the fit and of the forecast, which are not the fit's, and the memory of its largest process.
The labels of the test rows are not here.

Every system gets the same frame: numbers with their gaps, booleans, and nominal columns as pandas
has them. What it makes of them is what its own documentation advises.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

Request = dict[str, Any]
Made = tuple[Any, dict[str, Any]]
"""An estimator, and the options of its `fit` beside the frame and the labels."""

Clock = Callable[[], float]
"""CPU seconds of this process and of those that it started and that have ended."""


def lightgbm(request: Request) -> Made:
    """LightGBM's estimator: it takes pandas' nominal columns and gaps by itself."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    cls = LGBMClassifier if _classifies(request) else LGBMRegressor
    return cls(random_state=request["seed"], n_jobs=1, verbose=-1), {}


def forest(request: Request) -> Made:
    """scikit-learn's forest: it takes gaps by itself, and the codes of nominal columns."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    cls = RandomForestClassifier if _classifies(request) else RandomForestRegressor
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (codes, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    model = cls(random_state=request["seed"], n_jobs=1)
    return make_pipeline(columns, model), {}


def leaseboard(request: Request) -> Made:
    """Our own estimator, whose budget counts CPU seconds."""
    sys.path.insert(0, request["root"])  # this program is alone in its process
    ours = import_module(request["estimators"])
    cls = ours.PolicyClassifier if _classifies(request) else ours.PolicyRegressor
    given = {
        "budget": request["seconds"],
        "unit": "cpu_seconds",
        "random_state": request["seed"],
    }
    return cls(**given), {}


def flaml(request: Request) -> Made:
    """FLAML's AutoML in one thread."""
    from flaml import AutoML

    return AutoML(), {
        "task": request["task"],
        "metric": "accuracy" if _classifies(request) else "r2",
        "time_budget": request["seconds"],
        "n_jobs": 1,
        "seed": request["seed"],
        "mlflow_logging": False,
        "verbose": 0,
    }


def tpot(request: Request) -> Made:
    """TPOT's genetic search over its default space; a pipeline may take a third of the seconds."""
    return _tpot(request, "linear", request["seconds"] / 3)


def tpot_light(request: Request) -> Made:
    """TPOT over its space of fast pipelines, each of which may take all the seconds."""
    return _tpot(request, "linear-light", request["seconds"])


def _tpot(request: Request, search_space: str, longest: float) -> Made:
    """TPOT's genetic search in one process, with its own preprocessing of nominal columns."""
    from tpot import TPOTClassifier, TPOTRegressor

    nominal = [name for name, categories in _named(request["columns"]) if categories is not None]
    model = (TPOTClassifier if _classifies(request) else TPOTRegressor)(
        search_space=search_space,
        scorers=["accuracy" if _classifies(request) else "r2"],
        scorers_weights=[1],
        preprocessing=True,
        categorical_features=nominal or None,
        max_time_mins=request["seconds"] / 60,
        max_eval_time_mins=longest / 60,
        n_jobs=1,
        processes=False,
        random_state=request["seed"],
    )
    return model, {}


SYSTEMS: dict[str, Callable[[Request], Made]] = {
    each.__name__.replace("_", "-"): each
    for each in (lightgbm, forest, leaseboard, flaml, tpot, tpot_light)
}
"""Those whose set-up is a few lines; of others it is in a file beside this one."""

COUNTING_WALL_SECONDS = ("flaml", "tpot", "tpot-light", "autogluon")
"""Systems whose budget is told in wall seconds."""

LIBRARIES = {"tpot-light": "tpot"}
"""The library of a system that is not named after it."""


def made(inside: ModuleType, system: str, request: Request) -> Made:
    """The estimator of `system`, and the options of its fit."""
    if system in COUNTING_WALL_SECONDS:
        _count_cpu_time()
    name = module_of(system)
    if name is None:
        return SYSTEMS[system](request)
    found: Made = inside.beside(name).make(request, spent_seconds)
    return found


def module_of(system: str) -> str | None:
    """The name of the file that sets `system` up, None if this one does.

    Examples
    --------
    >>> module_of("hyperopt-sklearn")
    'table_hyperopt_sklearn'
    """
    return None if system in SYSTEMS else f"table_{system.replace('-', '_')}"


def main(inside: ModuleType, system: str, place: str) -> None:
    """Learn, forecast, answer."""
    import numpy as np

    folder = Path(place)
    wall = time.monotonic
    began = wall()
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    model, options = made(inside, system, request)
    with np.load(folder / "data.npz") as stored:
        train, test = (_frame(request["columns"], stored, part) for part in ("train", "test"))
        labels = stored["labels"]
    setup = spent_seconds(), wall() - began
    model.fit(train, labels, **options)
    fitted = spent_seconds(), wall()
    forecasts = np.asarray(model.predict(test), dtype=np.float64).ravel()
    answer = {
        "setup": setup,
        "forecast": (spent_seconds() - fitted[0], wall() - fitted[1]),
        "peak_memory_mb": inside.peak_memory_mb(),
    }
    np.save(folder / "forecasts.npy", forecasts)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


def _frame(columns: list[dict[str, Any]], stored: Any, part: str) -> Any:
    """The rows of a part as a frame."""
    import pandas as pd

    made = {}
    for number, (name, categories) in enumerate(_named(columns)):
        values = stored[f"{part}_{number}"]
        made[name] = (
            values if categories is None else pd.Categorical.from_codes(values, categories)
        )
    return pd.DataFrame(made)


def _named(columns: list[dict[str, Any]]) -> list[tuple[str, list[str] | None]]:
    """What systems are told of the columns: a name, and the categories of a nominal one."""
    return [(f"column{number}", column["categories"]) for number, column in enumerate(columns)]


def _classifies(request: Request) -> bool:
    found: bool = request["task"] == "classification"
    return found


def _count_cpu_time() -> None:
    """Give a system that knows wall seconds alone a clock that shows its process's CPU time.

    So its budget is the same as that of others, and what else the machine does takes nothing
    from it.
    """
    began = time.time()
    time.time = lambda: began + time.process_time()


def spent_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
