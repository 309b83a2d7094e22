"""Program inside a framework's environment: ``DESCRIPTOR PROGRAM ARGUMENTS…``.

It imports nothing of Leaseboard. Its folder is the last that is searched, where it hides no
library of the same name. The descriptor is of the connection to Leaseboard, whose messages are
pickles, the first of them the order. What libraries print is not a message, and no child of this
process inherits it. The programs are:

``table SYSTEM``
    A system for tables, which learns a frame and predicts the test rows. Every system gets the
    same frame: numbers with their gaps, booleans, and nominal columns as pandas has them. What it
    makes of them is what its own documentation advises. It answers the predictions, the CPU and
    wall seconds of the fit, and the memory of its largest process. The labels of the test rows are
    not here.
``select SYSTEM``
    A search of a library among given configurations, which sees no data. The order says how many
    there are, the rows of a full training and of a first probe, the seed and the settings of the
    search. Then it sends what it wants to know, and reads the accuracy, None for what could not be
    trained; at last it sends what it chose. The library decides all of that. What it would fit,
    Leaseboard fits and records, so that a fit costs the same for every search.
``stream SYSTEM LEARNER``
    A learner on a stream, see `framework_streams`, a file next to it.
``dataset NAME``
    A dataset of River, which is sent.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def spent_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def peak_memory_mb() -> float:
    """Return the most that this process or one of its children held, in millions of bytes.

    Linux counts what the process that started this one held among what `resource` says of it, so
    ``/proc`` is asked for the process itself.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024 / 1e6


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
    ours = import_module("leaseboard.tasks.models.automl.estimators")
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
        return model.fit(frame.assign(label=labels), **options).predict

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
        return model.predict

    return fit


TABLE_SYSTEMS = {each.__name__: each for each in (lightgbm, forest, leaseboard, autogluon, flaml)}

COUNTING_WALL_SECONDS = ("flaml", "autogluon")
"""Systems that take the seconds of a fit for wall seconds."""


def predict_table(wire: Any, system: str) -> None:
    """Read the order, do it, answer."""
    import numpy as np

    order = wire.recv()
    if system in COUNTING_WALL_SECONDS:
        # Its clock shows the CPU time of this process: its budget is the same as that of others,
        # and what else the machine does takes nothing from it.
        began = time.time()
        time.time = lambda: began + time.process_time()
    fit = TABLE_SYSTEMS[system](order)
    train, test = _frame(order["train"]), _frame(order["test"])
    cpu, wall = spent_seconds(), time.monotonic()
    predict = fit(train, order["labels"])
    cpu, wall = spent_seconds() - cpu, time.monotonic() - wall
    predictions = np.asarray(predict(test), dtype=np.float64).ravel()
    wire.send(
        {
            "predictions": predictions.tolist(),
            "cpu_seconds": cpu,
            "wall_seconds": wall,
            "peak_memory_mb": peak_memory_mb(),
        }
    )


def _frame(columns: list[Any]) -> Any:
    """Return a frame of columns, of which nominal ones come as codes with their categories."""
    import pandas as pd

    frame = {}
    for number, (values, categories) in enumerate(columns):
        nominal = categories is not None
        column = pd.Categorical.from_codes(values, categories) if nominal else values
        frame[f"column{number}"] = column
    return pd.DataFrame(frame)


def _classifies(order: Order) -> bool:
    return order["task"] == "classification"


Ask = Callable[..., float]
"""From a configuration and rows to the accuracy; CannotTrainError if training fails."""

CONFIGURATION = "configuration"

GROWTH = 4
"""How many times larger the next sample of a trial is: the reduction factor of Optuna's
``SuccessiveHalvingPruner``, so that there is a sample at each of its rungs and none between."""


class CannotTrainError(Exception):
    """Error of a configuration that could not be trained on a sample."""


def sklearn_halving(order: Order, ask: Ask) -> int | None:
    """Search by ``HalvingGridSearchCV`` or ``HalvingRandomSearchCV`` with rows as the resource.

    The class decides; of its estimator only the score is asked for, and only on rows to be tested
    on: the score on training rows, which it would report by default, decides nothing. The random
    search is given as many candidates as there are, because `exhaust`, its default, draws from
    distributions until the rows are used up, and `smallest`, its default first round, is some 20
    rows.
    """
    import warnings

    import numpy as np
    from sklearn.base import BaseEstimator
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV, HalvingRandomSearchCV, PredefinedSplit

    settings = order["settings"]

    class Asking(BaseEstimator):
        """Estimator whose score Leaseboard computes."""

        def __init__(self, configuration: int = 0, rows: int = 1) -> None:
            self.configuration = configuration
            self.rows = rows

        def fit(self, X: Any, y: Any = None) -> Asking:
            return self

        def score(self, X: Any, y: Any = None) -> float:
            return ask(int(self.configuration), int(self.rows))

    grid = {CONFIGURATION: list(range(order["configurations"]))}
    given = {
        "resource": "rows",
        "max_resources": order["rows"],
        "min_resources": settings["min_resources"],
        "factor": settings["factor"],
        "cv": PredefinedSplit([-1, 0]),
        "return_train_score": False,
        "random_state": order["seed"],
    }
    if settings["search"] == "random":
        search = HalvingRandomSearchCV(
            Asking(), grid, n_candidates=order["configurations"], **given
        )
    else:
        search = HalvingGridSearchCV(Asking(), grid, **given)
    with warnings.catch_warnings():
        # A configuration that cannot be trained has no score.
        for known in ("Scoring failed", "One or more of the test scores are non-finite"):
            warnings.filterwarnings("ignore", known, UserWarning)
        search.fit(np.zeros((2, 1)))
    # Its choice is of the last round, also where none of that could be trained.
    trained = np.isfinite(search.cv_results_["mean_test_score"]).any()
    return int(search.best_params_[CONFIGURATION]) if trained else None


def optuna_study(order: Order, ask: Ask) -> int | None:
    """Search by Optuna's study with a pruner, as its tutorial does: report, then ask."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    settings, seed, n = order["settings"], order["seed"], order["configurations"]
    unit = order["initial_rows"]
    if settings["pruner"] == "median":
        pruner = optuna.pruners.MedianPruner(n_startup_trials=settings["startup_trials"])
    else:
        pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=settings["min_resource"])
    space = list(range(n))
    sampler = optuna.samplers.GridSampler({CONFIGURATION: space}, seed=seed)
    sizes = samples(unit, order["rows"])

    def objective(trial: Any) -> float:
        configuration = trial.suggest_categorical(CONFIGURATION, space)
        for rows in sizes:
            accuracy = ask(configuration, rows)
            trial.report(accuracy, -(-rows // unit))
            if trial.should_prune():
                raise optuna.TrialPruned
        return accuracy

    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=n, catch=(CannotTrainError,))
    done = any(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)
    return int(study.best_trial.params[CONFIGURATION]) if done else None


def samples(unit: int, rows: int) -> list[int]:
    """Return the samples of a trial: the first probe's, `GROWTH` times more each, and all rows.

    >>> samples(1000, 20_000)
    [1000, 4000, 16000, 20000]
    >>> samples(1000, 16_000), samples(1000, 300)
    ([1000, 4000, 16000], [300])
    """
    found = []
    while unit < rows:
        found.append(unit)
        unit *= GROWTH
    return [*found, rows]


SEARCHES = {"scikit-learn": sklearn_halving, "optuna": optuna_study}


def select(wire: Any, system: str) -> None:
    """Read the order, search, send what is chosen."""
    order = wire.recv()

    def ask(configuration: int, rows: int) -> float:
        wire.send({CONFIGURATION: configuration, "rows": rows})
        found = wire.recv()
        if found is None:
            raise CannotTrainError(f"configuration {configuration} on {rows} rows")
        return float(found)

    wire.send({"chosen": SEARCHES[system](order, ask)})


def learn_stream(wire: Any, system: str, learner: str) -> None:
    """Read the order, learn the stream, and answer the time and memory that it took."""
    streams = import_module("framework_streams")
    asked = streams.Asked(**wire.recv())
    spent = streams.play(wire, streams.LEARNERS[system][learner](asked), asked)
    wire.send(spent | {"peak_memory_mb": peak_memory_mb()})


def send_dataset(wire: Any, name: str) -> None:
    """Send a dataset of River."""
    wire.send(import_module("framework_streams").read(name))


PROGRAMS: dict[str, Callable[..., None]] = {
    "table": predict_table, "select": select, "stream": learn_stream, "dataset": send_dataset
}  # fmt: skip

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    descriptor, program, *arguments = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    PROGRAMS[program](Connection(int(descriptor)), *arguments)
