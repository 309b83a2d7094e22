"""apple and its baselines as models: what their runs on hold-outs left."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.estimator import log_probabilities, margins_of_classes
from leaseboard.algorithms.apple.learner import MonomialLearner, outputs
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.transcendental import exp_all
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import divided
from leaseboard.tasks.jobs.environments.holdout import Options, classes_of, encoder, target_range
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models.columns import describe
from leaseboard.tasks.models.pipeline import PipelineModel


@dataclass
class AppleLearners:
    """Learners of a run with their encoder: one, or of three and more classes one for each.

    - `n_classes`: 0 for a regression.
    - `offset`, `factor`: of a regression: they scale an output to the target's own unit.
    """

    encoder: Any
    learners: tuple[MonomialLearner, ...]
    n_classes: int = 0
    offset: float = 0.0
    factor: float = 1.0

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return numbers, or codes of classes."""
        found = self._outputs(frame)
        if self.n_classes:
            return margins_of_classes(found).argmax(axis=1)
        return np.asarray(self.offset + self.factor * found[:, 0].astype(np.float64))

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return probabilities of the classes, whose margins are taken for log-odds."""
        return exp_all(log_probabilities(margins_of_classes(self._outputs(frame)), 1.0))

    def _outputs(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        rows = sparse.csr_array(self.encoder.transform(frame), dtype=np.float32)
        return outputs(self.learners, rows)


def fitted(
    dataset: Dataset, job: Job, result: Result, learner: Any
) -> tuple[PipelineModel, float | None]:
    """Return the model of the `learner` that `job` left, and its score on test rows if it has one.

    Raises UsageError if the run left no learner of ours, or learned from text.
    """
    if not isinstance(learner, tuple) or not isinstance(learner[0], MonomialLearner):
        raise UsageError(
            "the run left no model: only apple, linear, quadratic, cubic and their like can be"
            " registered"
        )
    dataset = divided(dataset, job)
    options, seed = Options(**job.environment), job.environment_seed
    try:
        columns = describe(dataset.features.drop(columns=list(options.drop)))
    except ValueError as error:
        raise UsageError(f"{dataset.reference}: {error}") from error
    low, high = target_range(dataset, options, seed) if options.scale_target else (0.0, 1.0)
    classes = _classes(dataset, options)
    encode = encoder(dataset, options, seed)
    learned = AppleLearners(encode, tuple(learner), len(classes), low, high - low)
    model = PipelineModel(columns, learned, classes)
    return model, result.score if options.score_on == "test" else None


def _classes(dataset: Dataset, options: Options) -> tuple[str, ...]:
    """Return the names of all classes; of two sides, several that share a label as one."""
    if dataset.task == "regression":
        return ()
    if many := classes_of(dataset, options):
        return many
    names = [str(name) for name in dataset.target.cat.categories]
    positive = set(options.positive) or {names[1]}
    sides = [[n for n in names if n not in positive], [n for n in names if n in positive]]
    return tuple(" or ".join(side) for side in sides)
