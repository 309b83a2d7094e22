"""hyperopt-sklearn on a table: `table_program` loads it in its environment, by path."""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.table_program import Data, Made, Order, Tried

LONGEST_TRIAL = 1 / 3
"""Of the seconds."""


def make(order: Order, clock: Callable[[], float]) -> Made:
    """Make hyperopt-sklearn's TPE over any learner and preprocessing, as on its first page."""
    hpsklearn, suggest = _library()
    from hpsklearn.estimator import estimator

    estimator.Process = process = process_of_trials()
    kind = "classifier" if order["task"] == "classification" else "regressor"
    search = hpsklearn.HyperoptEstimator(
        **{kind: getattr(hpsklearn, f"any_{kind}")("learner")},
        preprocessing=hpsklearn.any_preprocessing("preprocessing"),
        algo=suggest,
        n_jobs=1,
    )
    return TrialsInTime(search, process, clock, order["seconds"], order["seed"]), {}


def search(order: Order, data: Data) -> tuple[Tried, Any]:
    """Search by hyperopt-sklearn's TPE over its classifiers; the last rows are for validation."""
    import numpy as np
    from sklearn.base import clone

    hpsklearn, suggest = _library()
    rows = np.concatenate([data["train_x"], data["validation_x"]])
    labels = np.concatenate([data["train_y"], data["validation_y"]])
    searching = hpsklearn.HyperoptEstimator(
        classifier=hpsklearn.any_classifier("classifier"),
        preprocessing=[],
        algo=suggest,
        trial_timeout=order["trial_seconds"],
    )
    # Half a row less, because it rounds the number of training rows down.
    share = (len(data["validation_y"]) - 0.5) / len(labels)
    trials = TrialByTrial(
        searching, rows, labels, order["seed"], valid_size=share, cv_shuffle=False
    )
    began = time.time()
    most, seconds = (
        math.inf if order[unit] is None else order[unit] for unit in ("trials", "seconds")
    )
    tried: Tried = []
    while len(tried) < most and time.time() - began < seconds:
        trial = trials.run()
        result = trial["result"]
        ok = result["status"] == "ok"
        values = trial["misc"]["vals"]
        tried.append(
            {
                "reward": 1 - result["loss"] if ok else None,
                "end": time.time() - began,
                "parameters": {name: found[0] for name, found in values.items() if found},
                "reason": "" if ok else str(result.get("failure", "")) or trials.raised,
            }
        )
    best = searching.best_model()["learner"]
    if best is None:
        raise RuntimeError(f"all trials failed: {tried[-1]['reason']}")
    return tried, clone(best).fit(data["train_x"], data["train_y"])


class TrialByTrial:
    """Search of hyperopt-sklearn that goes on after a trial that raises.

    Such a trial, as some settings make for three classes, would end the whole search. Here it has
    failed, and the search goes on from the trials before. The seed that the search takes does not
    reach hyperopt 0.2.7, so each trial gets one of its own.

    `**split`: how rows are divided, as `fit_iter` takes it.
    """

    def __init__(self, search: Any, rows: Any, labels: Any, seed: int, **split: Any) -> None:
        import numpy as np

        self._search = search
        self._begin = partial(search.fit_iter, rows, labels, **split)
        self._seeds = np.random.default_rng(seed)
        self._steps = self._begun(warm_start=False)
        self.raised = ""
        """The error of the last trial, if it raised one."""

    def run(self) -> dict[str, Any]:
        """Run the next trial; return hyperopt's document of it."""
        from multiprocessing import active_children

        os.environ["HYPEROPT_FMIN_SEED"] = str(self._seeds.integers(2**31))
        known, self.raised = len(self._documents), ""
        try:
            self._steps.send(1)
        except Exception as error:
            if len(self._documents) == known:  # it was not a trial that raised
                raise
            self.raised = f"{type(error).__name__}: {error}"
            for child in active_children():
                child.join()  # its seconds count once it has been waited for
            self._steps = self._begun(warm_start=True)
        return self._documents[-1]

    def _begun(self, *, warm_start: bool) -> Any:
        steps = self._begin(warm_start=warm_start)
        next(steps)
        return steps

    @property
    def _documents(self) -> list[Any]:
        """All trials, those that raised too, which the search's own list leaves out."""
        return self._search.trials._dynamic_trials  # noqa: SLF001


@dataclass(eq=False)
class TrialsInTime:
    """Search of hyperopt-sklearn until its CPU seconds are over, as an estimator.

    It knows a number of trials and the wall seconds of one, no budget. Each trial is a process
    that it waits for, so the seconds are those of all its processes; see `process_of_trials`.

    - Its learners take finite numbers alone: a gap becomes the median or the commonest category,
      a category a column of 0 and 1.
    - Its pages validate on the last rows. Here they are drawn, each class in its share, an option
      of its own: in some tables one class comes after the other.
    - The best pipeline is fitted to all rows at the end, as by default.
    """

    search: Any
    process: Any
    clock: Callable[[], float]
    seconds: float
    seed: int

    def fit(self, frame: Any, labels: Any) -> None:
        """Search, and fit the best again."""
        import numpy as np
        from sklearn.pipeline import make_pipeline

        end = self.clock() + self.seconds
        numbers = _finite_numbers()
        trials = TrialByTrial(
            self.search, numbers.fit_transform(frame), labels, self.seed,
            cv_shuffle=True, random_state=np.random.default_rng(self.seed),
        )  # fmt: skip
        said = "no trial ended in time"
        while (left := end - self.clock()) > 0:
            self.process.most = math.ceil(min(left, self.seconds * LONGEST_TRIAL))
            trials.run()
            said = trials.raised or said
        best = self.search.best_model()
        if best["learner"] is None:
            raise RuntimeError(f"all trials failed or took too long: {said}")
        self.best = make_pipeline(numbers, *best["preprocs"], best["learner"]).fit(frame, labels)

    def predict(self, frame: Any) -> Any:
        """Return what the best pipeline predicts."""
        return self.best.predict(frame)


def process_of_trials() -> Any:
    """Return the class of a trial's process, which may take so many CPU seconds: its ``most``.

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


def _library() -> tuple[Any, Any]:
    """Return hyperopt-sklearn and TPE of hyperopt 0.2.7, which was written for an older numpy.

    It gives ``numpy.bincount`` None for no least length once it no longer draws at random: its
    21st trial would end the search.
    """
    import numpy as np

    count = np.bincount
    np.bincount = lambda x, weights=None, minlength=None: count(x, weights, minlength or 0)
    import hpsklearn
    from hyperopt import tpe

    return hpsklearn, tpe.suggest


def _finite_numbers() -> Any:
    """Fill gaps and make columns of categories, as scikit-learn's page on mixed columns has it."""
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
