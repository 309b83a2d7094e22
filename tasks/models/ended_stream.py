"""The champion or the whole race at the end of a stream, as a model that learns no more."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.streaming.base import racing_of
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models.columns import Column, describe, typed
from leaseboard.tasks.models.model import ModelFile, TableModel
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.streaming import (
    StreamOptions,
    class_labels,
    from_log,
    log_shift,
    needs_log,
    order_of,
)


class EndedStreamModel(TableModel):
    """Champion of a stream, or a whole race, at the end of the stream.

    - `settings`: how features become numbers, and outputs targets or classes: ``options`` of
      `StreamOptions`, the ``encoder``'s state, ``classes``, and ``shift``, of a target that is
      the exponential of an output, less this.
    - `learned`: the state of a `Learner`, or of a race, with its algorithm,
      settings and seed. A race's models see what
      it computes, so that none of them predicts without it.
    """

    kind = "ended-stream"

    def __init__(
        self,
        columns: tuple[Column, ...],
        settings: dict[str, Any],
        learned: dict[str, Any],
    ) -> None:
        super().__init__(columns)
        self.settings, self.learned = settings, learned
        self.classes, self.shift = tuple(settings["classes"]), settings["shift"]
        self.encoder = StreamOptions(**settings["options"]).encoder().restore(settings["encoder"])
        task = "classification" if self.classes else "regression"
        self.predicts_codes = False
        """Whether an output is the code of a class; else it is a logarithm, margin or number."""
        self._predict: Callable[[NDArray[np.float32]], Any]
        schema = self.encoder.features_.schema()
        if "model" in learned:
            self._predict = Learner.restored(learned, schema).predict
        else:
            race = _restored(learned, schema, task)
            self.predicts_codes = isinstance(race, OneVsRest)
            self._predict = (
                (lambda x: np.argmax(race.predict(x))) if self.predicts_codes else race.predict
            )
        self._lock = threading.Lock()  # a server predicts from many threads, none of these can

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        outputs = self.outputs(typed(frame, self.columns))
        if self.classes:
            codes = outputs if self.predicts_codes else outputs > 0
            return np.array(self.classes, dtype=object)[codes.astype(np.intp)]
        return outputs if self.shift is None else from_log(outputs, self.shift)

    def outputs(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """Return what the learner predicts of typed rows, shape (n_rows,)."""
        with naming("the model's input"):
            features = self.encoder.transform(rows)
        with self._lock:
            return np.array([self._predict(x) for x in features], dtype=np.float64)

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return {"settings": self.settings, "learned": self.learned}

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        return cls(file.columns, **file.state)


def _restored(state: Mapping[str, Any], schema: Schema, task: str) -> Race | OneVsRest:
    """Return the race that `state` has, for examples of `schema`; nothing in it is executed.

    Raises one of `leaseboard.algorithms.plain.UNFIT` for a state that no race has.
    """
    racing, seed = racing_of(state["algorithm"], state["settings"]), state["seed"]

    def new_race(schema: Schema) -> Race:
        return racing.race(schema, seed, task)

    many = "races" in state["race"]
    race = OneVsRest(new_race, schema) if many else new_race(schema)
    race.fill(state["race"])
    return race


def fitted(
    dataset: Dataset, job: Job, result: Result, learner: Any
) -> tuple[EndedStreamModel, None]:
    """Return the model of the `learner` that `job` left; no score, for all rows were learned.

    Raises UsageError if the run left no learner, as one does that was only a reference.
    """
    if not isinstance(learner, Learner | Race | OneVsRest):
        raise UsageError(
            "the run left no model: only algorithms that end with an online learner or a race,"
            " such as vanilla and online-automl, can be registered"
        )
    options = StreamOptions(**job.environment)
    order = order_of(dataset, options, job.environment_seed)
    rows, seen = dataset.features.iloc[order], None if job.budget is None else int(job.budget)
    shift, classes = None, ()
    if dataset.task == "regression":
        target = dataset.target.to_numpy(dtype=np.float64)
        shift = log_shift(target) if needs_log(target, options.log_target) else None
    else:
        _, classes = class_labels(dataset, order)
    if isinstance(learner, Learner):
        learned = learner.state()
    else:
        every = settings_of(racing_of(job.algorithm, job.settings))
        learned = {"algorithm": job.algorithm, "settings": every, "seed": job.seed}
        learned |= {"race": learner.state()}
    settings = {
        "options": options.model_dump(),
        "encoder": options.encoder().fit(rows.iloc[:seen]).state(),
        "classes": classes,
        "shift": shift,
    }
    return EndedStreamModel(describe(dataset.features, texts=True), settings, learned), None
