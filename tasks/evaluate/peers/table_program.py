"""Runs in a system's environment: ``python table_program.py SYSTEM FOLDER``.

It reads ``request.json`` (seed, task, seconds, and what the columns are) and ``data.npz`` (the
columns of the training and of the test rows, and the training rows' labels) from the folder, lets
the system learn, and writes ``forecasts.npy`` and ``answer.json``: the seconds before the fit and
of the forecast, which are not the fit's, and the memory of its largest process. The labels of the
test rows are not here.

Every system gets the same frame: numbers with their gaps, booleans, and nominal columns as pandas
has them. What it makes of them is what its own documentation advises.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Request = dict[str, Any]
Made = tuple[Any, dict[str, Any]]
"""An estimator, and the options of its `fit` beside the frame and the labels."""

LONGEST_TRIAL = 1 / 3
"""Of the seconds, where a system has a limit of one trial."""


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
    given = {"budget": request["seconds"], "unit": "cpu_seconds", "random_state": request["seed"]}
    return cls(**given), {}


def flaml(request: Request) -> Made:
    """FLAML's AutoML in one thread."""
    _count_cpu_time()
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
    """TPOT's genetic search in one process, with its own preprocessing of nominal columns."""
    _count_cpu_time()
    from tpot import TPOTClassifier, TPOTRegressor

    nominal = [name for name, categories in _named(request["columns"]) if categories is not None]
    minutes = request["seconds"] / 60
    model = (TPOTClassifier if _classifies(request) else TPOTRegressor)(
        scorers=["accuracy" if _classifies(request) else "r2"],
        scorers_weights=[1],
        preprocessing=True,
        categorical_features=nominal or None,
        max_time_mins=minutes,
        max_eval_time_mins=minutes * LONGEST_TRIAL,
        n_jobs=1,
        processes=False,
        random_state=request["seed"],
    )
    return model, {}


def hyperopt_sklearn(request: Request) -> Made:
    """hyperopt-sklearn's TPE over any learner and any preprocessing, as its first page has it."""
    _count_without_least()
    from hpsklearn import HyperoptEstimator, any_classifier, any_preprocessing, any_regressor
    from hpsklearn.estimator import estimator
    from hyperopt import tpe

    estimator.Process = process = process_of_trials()
    if _classifies(request):
        learner = {"classifier": any_classifier("learner")}
    else:
        learner = {"regressor": any_regressor("learner")}
    search = HyperoptEstimator(
        **learner, preprocessing=any_preprocessing("preprocessing"), algo=tpe.suggest, n_jobs=1
    )
    return TrialsInTime(search, process, request["seconds"], request["seed"]), {}


class TrialsInTime:
    """A search of hyperopt-sklearn, trial by trial until its CPU seconds are over.

    It knows a number of trials and the wall seconds of one, no budget. Each trial is a process
    that it waits for, so the seconds are those of all its processes; see `process_of_trials`.

    - Its learners take finite numbers alone: a gap becomes the median or the commonest category,
      a category a column of 0 and 1.
    - Its pages validate on the last rows. Here they are drawn, each class in its share, an option
      of its own: in some tables one class comes after the other.
    - A trial that raises, as some of its settings do for three classes, ends its whole search.
      Here it is a failed trial, and the search goes on from the trials before.
    - The seed that it takes does not reach hyperopt 0.2.7, so each trial gets one of its own.
    - The best pipeline is fitted to all rows at the end, as by default.
    """

    def __init__(self, search: Any, process: Any, seconds: float, seed: int) -> None:
        self.search = search
        self.process = process
        self.seconds = seconds
        self.seed = seed

    def fit(self, frame: Any, labels: Any) -> None:
        """Search, and fit the best again."""
        from multiprocessing import active_children

        import numpy as np
        from sklearn.pipeline import make_pipeline

        end = _cpu_seconds() + self.seconds
        numbers = _finite_numbers()
        rows = numbers.fit_transform(frame)
        seeds = np.random.default_rng(self.seed)
        steps, said = self._steps(rows, labels), "no trial ended in time"
        while (left := end - _cpu_seconds()) > 0:
            self.process.most = math.ceil(min(left, self.seconds * LONGEST_TRIAL))
            os.environ["HYPEROPT_FMIN_SEED"] = str(seeds.integers(2**31))
            failed = self._failed()
            try:
                steps.send(1)
            except Exception as error:
                if self._failed() == failed:  # it was not a trial that raised
                    raise
                said = f"{type(error).__name__}: {error}"
                for trial in active_children():
                    trial.join()  # its seconds count once it has been waited for
                steps = self._steps(rows, labels, warm_start=True)
        best = self.search.best_model()
        if best["learner"] is None:
            raise RuntimeError(f"all trials failed or took too long: {said}")
        self.best = make_pipeline(numbers, *best["preprocs"], best["learner"]).fit(frame, labels)

    def predict(self, frame: Any) -> Any:
        """What the best pipeline forecasts."""
        return self.best.predict(frame)

    def _steps(self, rows: Any, labels: Any, warm_start: bool = False) -> Any:
        import numpy as np

        steps = self.search.fit_iter(
            rows,
            labels,
            cv_shuffle=True,
            random_state=np.random.default_rng(self.seed),
            warm_start=warm_start,
        )
        next(steps)
        return steps

    def _failed(self) -> int:
        """How many trials raised."""
        from hyperopt import JOB_STATE_ERROR

        found: int = self.search.trials.count_by_state_unsynced(JOB_STATE_ERROR)
        return found


def process_of_trials() -> Any:
    """The class of a trial's process, which may take so many CPU seconds: its ``most``.

    hyperopt-sklearn's own limit is in wall seconds: on a busy machine a trial would get less. Nor
    does it notice that a trial was killed, because it holds the other end of its pipe open.
    """
    from multiprocessing import Process

    class LimitedTrial(Process):
        most = 1

        def start(self) -> None:
            theirs = self._kwargs["_conn"]  # type: ignore[attr-defined]
            super().start()
            theirs.close()

        def run(self) -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (self.most, self.most))
            super().run()

    return LimitedTrial


def _count_without_least() -> None:
    """Let ``numpy.bincount`` take None for no least length, as it did when hyperopt was written.

    hyperopt 0.2.7 hands it that once it no longer draws at random: its 21st trial would end the
    search.
    """
    import numpy as np

    count = np.bincount
    np.bincount = lambda x, weights=None, minlength=None: count(x, weights, minlength or 0)


def _finite_numbers() -> Any:
    """Gaps filled and categories as columns, as scikit-learn's page on mixed columns has it."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    codes = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    nominal = make_pipeline(SimpleImputer(strategy="most_frequent"), codes)
    return make_column_transformer(
        (nominal, make_column_selector(dtype_include="category")),
        remainder=SimpleImputer(strategy="median"),
    )


def autogluon(request: Request) -> Made:
    """AutoGluon's predictor at its default preset, on one CPU."""
    _count_cpu_time()
    return Predictor(_classifies(request)), {
        "time_limit": request["seconds"],
        "num_cpus": 1,
        "num_gpus": 0,
    }


class Predictor:
    """AutoGluon's predictor, which takes the labels as a column of the frame.

    The labels are codes, so that the kind of task is told. It keeps its files in the folder where
    the program runs. It would load its networks' libraries within its seconds: they are loaded
    before, as those of others are.
    """

    def __init__(self, classifies: bool) -> None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = "torch"
        from autogluon.tabular import TabularPredictor

        import_module("fastai.tabular.all")
        self.cls = TabularPredictor
        self.classifies = classifies

    def fit(self, frame: Any, labels: Any, **options: Any) -> None:
        """Fit one after the other what its preset names, and weigh them."""
        kind = "regression"
        if self.classifies:
            kind = "binary" if len(set(labels.tolist())) == 2 else "multiclass"
        metric = "accuracy" if self.classifies else "r2"
        self.predictor = self.cls(
            "label", problem_type=kind, eval_metric=metric, path="models", verbosity=0
        ).fit(frame.assign(label=labels), **options)

    def predict(self, frame: Any) -> Any:
        """What its best model forecasts."""
        return self.predictor.predict(frame)


SYSTEMS: dict[str, Callable[[Request], Made]] = {
    each.__name__.replace("_", "-"): each
    for each in (lightgbm, forest, leaseboard, flaml, tpot, hyperopt_sklearn, autogluon)
}


def main(system: str, folder: Path) -> None:
    """Learn, forecast, answer."""
    import numpy as np

    wall = time.monotonic
    began = wall()
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    model, options = SYSTEMS[system](request)
    with np.load(folder / "data.npz") as stored:
        train, test = (_frame(request["columns"], stored, part) for part in ("train", "test"))
        labels = stored["labels"]
    setup = _cpu_seconds(), wall() - began
    model.fit(train, labels, **options)
    fitted = _cpu_seconds(), wall()
    forecasts = np.asarray(model.predict(test), dtype=np.float64).ravel()
    answer = {
        "setup": setup,
        "forecast": (_cpu_seconds() - fitted[0], wall() - fitted[1]),
        "peak_memory_mb": _peak_memory_mb(),
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


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _peak_memory_mb() -> float:
    """Of the largest of this process and those that it waited for, in millions of bytes.

    Linux tells of the own by ``VmHWM``: ``ru_maxrss`` may be what held the process that started
    this one.
    """
    unit = 1024 if sys.platform == "linux" else 1
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    if sys.platform != "linux":
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    else:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        peak = next(line for line in lines if line.startswith("VmHWM:"))
        own = int(peak.split()[1]) * unit
    return max(own, largest) / 1e6


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
