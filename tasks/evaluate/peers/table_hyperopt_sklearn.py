"""hyperopt-sklearn on a table: `table_program` imports it in its environment, by path."""

from __future__ import annotations

import math
import os
import resource
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.peers.table_program import Clock, Made, Request

LONGEST_TRIAL = 1 / 3
"""Of the seconds."""


def make(request: Request, clock: Clock) -> Made:
    """hyperopt-sklearn's TPE over any learner and any preprocessing, as its first page has it."""
    _count_without_least()
    from hpsklearn import HyperoptEstimator, any_classifier, any_preprocessing, any_regressor
    from hpsklearn.estimator import estimator
    from hyperopt import tpe

    estimator.Process = process = process_of_trials()
    if request["task"] == "classification":
        learner = {"classifier": any_classifier("learner")}
    else:
        learner = {"regressor": any_regressor("learner")}
    search = HyperoptEstimator(
        **learner, preprocessing=any_preprocessing("preprocessing"), algo=tpe.suggest, n_jobs=1
    )
    return TrialsInTime(search, process, clock, request["seconds"], request["seed"]), {}


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

    def __init__(self, search: Any, process: Any, clock: Clock, seconds: float, seed: int) -> None:
        self.search = search
        self.process = process
        self.clock = clock
        self.seconds = seconds
        self.seed = seed

    def fit(self, frame: Any, labels: Any) -> None:
        """Search, and fit the best again."""
        from multiprocessing import active_children

        import numpy as np
        from sklearn.pipeline import make_pipeline

        end = self.clock() + self.seconds
        numbers = _finite_numbers()
        rows = numbers.fit_transform(frame)
        seeds = np.random.default_rng(self.seed)
        steps, said = self._steps(rows, labels), "no trial ended in time"
        while (left := end - self.clock()) > 0:
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
