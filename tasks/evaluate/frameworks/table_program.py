"""System for tables inside its framework's environment: ``table_program SYSTEM``.

It imports nothing of Leaseboard. It reads one order and answers it.

The system learns a frame and predicts the test rows. Every system gets the same frame:
numbers with their gaps, booleans, and nominal columns as pandas has them. What it makes of them
is what its own documentation advises. It answers the predictions, the CPU and wall seconds of the
fit, and the memory of its largest process. The labels of the test rows are not here.
"""

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

Order = dict[str, Any]
Fit = Callable[[Any, Any], Callable[[Any], Any]]
"""Learns a frame and its labels, and returns what predicts."""


def lightgbm(order: Order) -> Fit:
    """Make LightGBM's estimator, which takes pandas' nominal columns and gaps by itself."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    cls = LGBMClassifier if _classifies(order) else LGBMRegressor
    return _fitting(cls(random_state=order["seed"], n_jobs=1, verbose=-1))


def forest(order: Order) -> Fit:
    """Make scikit-learn's forest, which takes gaps by itself, and codes of nominal columns."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    cls = RandomForestClassifier if _classifies(order) else RandomForestRegressor
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer(
        (codes, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    return _fitting(make_pipeline(columns, cls(random_state=order["seed"], n_jobs=1)))


def leaseboard(order: Order) -> Fit:
    """Make our own estimator, whose budget counts CPU seconds."""
    sys.path.insert(0, order["root"])  # this program is alone in its process
    ours = import_module(order["estimators"])
    cls = ours.AutoMLClassifier if _classifies(order) else ours.AutoMLRegressor
    seconds, seed = order["seconds"], order["seed"]
    return _fitting(cls(time_budget=seconds, random_state=seed, cv=order.get("cv")))


def autogluon(order: Order) -> Fit:
    """Make AutoGluon's predictor at its default preset, on one CPU.

    The labels are codes and a column of its frame, so it is given the kind of task. It keeps its
    files in the folder where the program runs. It would load its networks' libraries within its
    seconds: they are loaded before, as those of others are.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "torch"
    from autogluon.tabular import TabularPredictor

    import_module("fastai.tabular.all")

    def fit(frame: Any, labels: Any) -> Callable[[Any], Any]:
        kind, metric = "regression", "r2"
        if _classifies(order):
            kind = "binary" if len(set(labels.tolist())) == 2 else "multiclass"
            metric = "accuracy"
        model = TabularPredictor(
            "label", problem_type=kind, eval_metric=metric, path="models", verbosity=0
        )
        options = {"time_limit": order["seconds"], "num_cpus": 1, "num_gpus": 0}
        predict: Callable[[Any], Any] = model.fit(frame.assign(label=labels), **options).predict
        return predict

    return fit


def flaml(order: Order) -> Fit:
    """Make FLAML's AutoML in one thread."""
    from flaml import AutoML

    return _fitting(
        AutoML(),
        task=order["task"],
        metric="accuracy" if _classifies(order) else "r2",
        time_budget=order["seconds"],
        n_jobs=1,
        seed=order["seed"],
        mlflow_logging=False,
        verbose=0,
    )


def _fitting(model: Any, **options: Any) -> Fit:
    """Return the fit of an estimator with `options`, which may return itself or nothing."""

    def fit(frame: Any, labels: Any) -> Callable[[Any], Any]:
        model.fit(frame, labels, **options)
        predict: Callable[[Any], Any] = model.predict
        return predict

    return fit


SYSTEMS = {each.__name__: each for each in (lightgbm, forest, leaseboard, autogluon, flaml)}

COUNTING_WALL_SECONDS = ("flaml", "autogluon")
"""Systems that take the seconds of a fit for wall seconds."""


def main(inside: ModuleType, wire: Any, system: str) -> None:
    """Read the order, do it, answer."""
    import numpy as np

    order = wire.recv()
    if system in COUNTING_WALL_SECONDS:
        _count_cpu_time()
    fit = SYSTEMS[system](order)
    train, test = _frame(order, "train"), _frame(order, "test")
    cpu, wall = inside.spent_seconds(), time.monotonic()
    predict = fit(train, order["labels"])
    cpu, wall = inside.spent_seconds() - cpu, time.monotonic() - wall
    predictions = np.asarray(predict(test), dtype=np.float64).ravel()
    wire.send(
        {
            "predictions": predictions.tolist(),
            "cpu_seconds": cpu,
            "wall_seconds": wall,
            "peak_memory_mb": inside.peak_memory_mb(),
        }
    )


def _frame(order: Order, part: str) -> Any:
    """Return the rows of a part as a frame."""
    import pandas as pd

    frame = {}
    for number, (values, categories) in enumerate(
        zip(order[part], order["categories"], strict=True)
    ):
        nominal = categories is not None
        column = pd.Categorical.from_codes(values, categories) if nominal else values
        frame[f"column{number}"] = column
    return pd.DataFrame(frame)


def _classifies(order: Order) -> bool:
    return order["task"] == "classification"


def _count_cpu_time() -> None:
    """Give a system that knows wall seconds alone a clock that shows its process's CPU time.

    So its budget is the same as that of others, and what else the machine does takes nothing
    from it.
    """
    began = time.time()
    time.time = lambda: began + time.process_time()
