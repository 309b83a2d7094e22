"""Runs inside a peer's environment: ``python program.py SYSTEM FOLDER``.

It imports nothing of Leaseboard. It reads ``request.json`` (seed, trials or seconds, and the
seconds that a trial may take) and ``data.npz`` (training, validation and test rows) from the
folder, lets the system search on the training rows with the validation rows as its score, and
writes ``answer.json``: what it tried in order, and the test score of the best, fitted on the
training rows alone as all others are.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Data = dict[str, Any]
Tried = list[dict[str, Any]]
"""Of each trial ``reward`` (None if it failed), ``end`` (seconds since the start), ``parameters``
and ``reason``."""

_PATIENCE = 1e6
"""Seconds that a budget in trials may take; whoever started this program has a limit."""


def flaml(data: Data, request: Data, folder: Path) -> tuple[Tried, Any]:
    """FLAML's AutoML with the validation rows as its hold-out."""
    from flaml import AutoML

    log = folder / "flaml.log"
    search = AutoML()
    search.fit(
        data["train_x"],
        data["train_y"],
        X_val=data["validation_x"],
        y_val=data["validation_y"],
        task="classification",
        metric="accuracy",
        eval_method="holdout",
        time_budget=request["seconds"] or -1,
        max_iter=request["trials"] or int(_PATIENCE),
        n_jobs=1,
        seed=request["seed"],
        retrain_full=False,
        log_file_name=str(log),
        log_type="all",
        mlflow_logging=False,
        verbose=0,
    )
    tried = []
    for line in log.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "config" in record:  # the last line names the best record instead
            tried.append(
                {
                    "reward": 1 - record["validation_loss"],
                    "end": record["wall_clock_time"],
                    "parameters": {"learner": record["learner"], **record["config"]},
                }
            )
    return tried, search


def tpot(data: Data, request: Data, _folder: Path) -> tuple[Tried, Any]:
    """TPOT's genetic search with the validation rows as its only fold."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import PredefinedSplit
    from tpot import TPOTEstimator

    rows = np.concatenate([data["train_x"], data["validation_x"]])
    labels = np.concatenate([data["train_y"], data["validation_y"]])
    fold = np.repeat([-1, 0], [len(data["train_y"]), len(data["validation_y"])])
    population = min(50, request["trials"] or 50)
    began = time.time()
    search = TPOTEstimator(
        search_space="linear",
        scorers=["accuracy"],
        scorers_weights=[1],
        classification=True,
        cv=PredefinedSplit(fold),
        population_size=population,
        generations=request["trials"] and -(-request["trials"] // population),
        max_time_mins=(request["seconds"] or _PATIENCE) / 60,
        max_eval_time_mins=request["trial_seconds"] / 60,
        n_jobs=1,
        random_state=request["seed"],
    )
    search.fit(rows, labels)
    table = search.evaluated_individuals.sort_values("Completed Timestamp")
    tried = [
        {
            "reward": None if np.isnan(score) else float(score),
            "end": float(end) - began,
            "parameters": {"pipeline": _steps(pipeline)},
            "reason": "" if error is None else str(error),
        }
        for score, end, pipeline, error in zip(
            table["accuracy_score"],
            table["Completed Timestamp"],
            table["Instance"],
            table["Eval Error"],
            strict=True,
        )
    ]
    return tried, clone(search.fitted_pipeline_).fit(data["train_x"], data["train_y"])


def hyperopt_sklearn(data: Data, request: Data, _folder: Path) -> tuple[Tried, Any]:
    """hyperopt-sklearn's TPE over all its classifiers; its validation rows are the last ones.

    A trial that raises ends its whole search, as some of its settings do for three classes. Here
    it is a failed trial, and the search goes on from the trials before. The seed that it takes
    does not reach hyperopt 0.2.7, so each trial gets one of its own.
    """
    import numpy as np

    _count_without_least()
    from hpsklearn import HyperoptEstimator, any_classifier
    from hyperopt import tpe
    from sklearn.base import clone

    rows = np.concatenate([data["train_x"], data["validation_x"]])
    labels = np.concatenate([data["train_y"], data["validation_y"]])
    search = HyperoptEstimator(
        classifier=any_classifier("classifier"),
        preprocessing=[],
        algo=tpe.suggest,
        trial_timeout=request["trial_seconds"],
    )
    seeds = np.random.default_rng(request["seed"])
    # Half a row less, because it rounds the number of training rows down.
    share = (len(data["validation_y"]) - 0.5) / len(labels)

    def begun(*, warm_start: bool) -> Any:
        steps = search.fit_iter(
            rows, labels, valid_size=share, cv_shuffle=False, warm_start=warm_start
        )
        next(steps)
        return steps

    steps = begun(warm_start=False)
    began = time.time()
    trials, seconds = request["trials"] or _PATIENCE, request["seconds"] or _PATIENCE
    tried: Tried = []
    while len(tried) < trials and time.time() - began < seconds:
        os.environ["HYPEROPT_FMIN_SEED"] = str(seeds.integers(2**31))
        try:
            steps.send(1)
        except Exception:
            if len(_trials_of(search)) == len(tried):  # it was not a trial that raised
                raise
            steps = begun(warm_start=True)
        trial = _trials_of(search)[-1]
        result, misc = trial["result"], trial["misc"]
        ok = result["status"] == "ok"
        raised = misc.get("error", ("", ""))[1]
        tried.append(
            {
                "reward": 1 - result["loss"] if ok else None,
                "end": time.time() - began,
                "parameters": {name: found[0] for name, found in misc["vals"].items() if found},
                "reason": "" if ok else str(result.get("failure", "") or raised),
            }
        )
    best = search.best_model()["learner"]
    if best is None:
        raise RuntimeError(f"all trials failed: {tried[-1]['reason']}")
    return tried, clone(best).fit(data["train_x"], data["train_y"])


def _trials_of(search: Any) -> list[Any]:
    """All trials of hyperopt, those that raised too, which its own list leaves out."""
    found: list[Any] = search.trials._dynamic_trials  # noqa: SLF001 - there is no public way
    return found


def _count_without_least() -> None:
    """Let ``numpy.bincount`` take None for no least length, as it did when hyperopt was written.

    hyperopt 0.2.7 hands it that once it no longer draws at random: its 21st trial would end the
    search.
    """
    import numpy as np

    count = np.bincount
    np.bincount = lambda x, weights=None, minlength=None: count(x, weights, minlength or 0)


SYSTEMS: dict[str, Callable[[Data, Data, Path], tuple[Tried, Any]]] = {
    "flaml": flaml,
    "hyperopt-sklearn": hyperopt_sklearn,
    "tpot": tpot,
}


def main(system: str, folder: Path) -> None:
    """Search, test, answer."""
    import numpy as np

    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    with np.load(folder / "data.npz") as stored:
        data = dict(stored)
    began = time.perf_counter()
    tried, model = SYSTEMS[system](data, request, folder)
    answer = {
        "tried": tried,
        "test": float(np.mean(model.predict(data["test_x"]) == data["test_y"])),
        "wall_seconds": time.perf_counter() - began,
        "cpu_seconds": _cpu_seconds(),
    }
    partial = folder / "answer.part"
    partial.write_text(json.dumps(answer, default=_plain), encoding="utf-8")
    partial.replace(folder / "answer.json")


def _steps(pipeline: Any) -> str:
    """The classes of a pipeline's steps, in order."""
    steps = getattr(pipeline, "steps", [("", pipeline)])
    return " > ".join(type(step).__name__ for _, step in steps)


def _plain(value: Any) -> Any:
    """A numpy number as Python's own."""
    return value.item()


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
