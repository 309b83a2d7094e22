"""apple and its baselines as a model: the encoder of the run, and the learner's arrays."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms import plain
from leaseboard.algorithms.apple.learner import MonomialLearner
from leaseboard.algorithms.apple.rates import ClassLearners, Model, model_of
from leaseboard.algorithms.apple.saved import learner_of, state_of
from leaseboard.algorithms.benches.arrays import largest
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.benches.holdout import Options, classes_of, encoder, target_range
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models import trusted
from leaseboard.tasks.models.columns import describe
from leaseboard.tasks.models.saved import Description, SavedModel
from leaseboard.tasks.preprocess.sparse import SparseEncoder

FILE, FORMAT = "learner.npz", "leaseboard-apple-2"
ENCODER = "encoder.skops"


class HoldoutModel(SavedModel):
    """Predicts as the learner did on the test rows.

    `encoder`: of the run, fitted on its training rows.
    """

    needs = (
        *("leaseboard", "mlflow", "numba", "numpy", "pandas"),
        *("scikit-learn", "scipy", "skops"),
    )

    def __init__(self, description: Description, encoder: SparseEncoder, learner: Model) -> None:
        super().__init__(description)
        self.encoder = encoder
        self._learner = learner
        self._lock = threading.Lock()  # predicting leaves marks in a hashed table

    def outputs(self, rows: pd.DataFrame) -> NDArray[np.float32]:
        """The learner's own predictions for typed rows, of many classes a column for each."""
        features = sparse.csr_array(self.encoder.transform(rows), dtype=np.float32)
        with self._lock:
            return self._learner.predict(features)

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        outputs = self.outputs(rows)
        if isinstance(self._learner, ClassLearners):
            return largest(outputs)
        if self.description.classes:
            return np.asarray(outputs > 0)
        low, high = self.description.target or (0.0, 1.0)
        return low + outputs.astype(np.float64) * (high - low)

    def _save(self, folder: Path) -> None:
        trusted.dump(self.encoder, folder / ENCODER)
        model = self._learner
        every = model.learners if isinstance(model, ClassLearners) else (model,)
        plain.write(folder / FILE, [state_of(learner) for learner in every], FORMAT)


def fitted(
    dataset: Dataset, job: Job, result: Result, learner: Any
) -> tuple[HoldoutModel, float | None]:
    """The model of the `learner` that `job` left, and its score on the test rows if it has one.

    Raises UsageError if the run left no learner of ours, or learned from text.
    """
    if not isinstance(learner, MonomialLearner | ClassLearners):
        raise UsageError(
            "the run left no model: only apple, linear, quadratic, cubic and their like can be"
            " registered"
        )
    options, seed = Options(**job.bench), job.environment_seed
    features = dataset.features.drop(columns=list(options.drop))
    try:
        known = describe(features)
    except ValueError as error:
        raise UsageError(f"{dataset.reference}: {error}") from error
    description = Description(
        kind="holdout",
        columns=known,
        classes=_classes(dataset, options),
        target=target_range(dataset, options, seed) if options.scale_target else None,
    )
    model = HoldoutModel(description, encoder(dataset, options, seed), learner)
    return model, result.score if options.score_on == "test" else None


def read(description: Description, folder: Path) -> HoldoutModel:
    """The model of a saved folder; UsageError if its file is damaged."""
    fitted: SparseEncoder = trusted.load(folder / ENCODER)
    try:
        learners = [learner_of(state) for state in plain.read(folder / FILE, FORMAT)]
        learner = model_of(learners)
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise UsageError(
            f"{str(folder / FILE)!r} holds no learner of this version: register the model anew"
        ) from error
    return HoldoutModel(description, fitted, learner)


def _classes(dataset: Dataset, options: Options) -> tuple[str, ...]:
    """The names of the classes labelled -1 and 1, several that share a label as one; or all."""
    if dataset.task == "regression":
        return ()
    if many := classes_of(dataset, options):
        return many
    names = [str(name) for name in dataset.target.cat.categories]
    positive = set(options.positive) or {names[1]}
    sides = [[n for n in names if n not in positive], [n for n in names if n in positive]]
    return tuple(" or ".join(side) for side in sides)
