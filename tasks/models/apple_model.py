"""apple and its baselines as a model: an encoder, the scale of its features, and learners."""

import threading
import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.classifier import (
    PolynomialExpansionClassifier,
    log_probabilities,
    margins_of_classes,
)
from leaseboard.algorithms.apple.estimator import PolynomialExpansionRegressor
from leaseboard.algorithms.apple.learner import MonomialLearner, outputs
from leaseboard.algorithms.apple.rows import RowScale
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.transcendental import exp_all
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import divided
from leaseboard.tasks.jobs.environments.holdout import Options, classes_of, encoder, target_range
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models.columns import Column, describe, typed
from leaseboard.tasks.models.model import ModelFile, TableModel, predicting
from leaseboard.tasks.models.pipeline import dump_trusted, load_trusted
from leaseboard.tasks.preprocess.tables import TableEncoder

KINDS: dict[str, Any] = {
    "regression": PolynomialExpansionRegressor,
    "classification": PolynomialExpansionClassifier,
}
"""The estimator of each task."""


class AppleModel(TableModel):
    """Numbers or classes, predicted by apple from mixed columns.

    Parameters
    ----------
    columns : sequence of Column
    encoder : SparseEncoder or TableEncoder
        Fitted.
    learners : sequence of MonomialLearner
        One; of three and more classes one for each.
    row_scale : RowScale, optional
        What becomes of each feature before it is multiplied; none where the encoder sees to it.
    classes : sequence of str
        Empty for a regression.
    slope : float
        Of classes: the factor by which margins become log-odds.
    offset, factor : float
        Of a regression: they scale an output to the target's own unit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(["x", "y"], 500)})
    >>> target = 100 + 5 * rows["a"] * (rows["b"] == "x")
    >>> made = PolynomialExpansionRegressor(random_state=0)
    >>> model = AppleModel.trained(rows, target, made)
    >>> bool(np.corrcoef(model.predict(rows), target)[0, 1] > 0.99)
    True
    """

    kind = "apple"
    needs = (*TableModel.needs, "scikit-learn", "scipy", "skops")

    def __init__(
        self,
        columns: Sequence[Column],
        encoder: Any,
        learners: Sequence[MonomialLearner],
        row_scale: RowScale | None = None,
        classes: Sequence[str] = (),
        slope: float = 1.0,
        offset: float = 0.0,
        factor: float = 1.0,
    ) -> None:
        super().__init__(columns)
        self.encoder, self.learners, self.row_scale = encoder, tuple(learners), row_scale
        self.classes = tuple(classes)
        self.slope, self.offset, self.factor = slope, offset, factor
        self._lock = threading.Lock()  # predicting leaves marks in a hashed table

    @classmethod
    def trained(
        cls,
        frame: pd.DataFrame,
        target: Any,
        made: PolynomialExpansionClassifier | PolynomialExpansionRegressor,
    ) -> Self:
        """Learn rows and their targets with an estimator that has learned nothing."""
        fitted = TableEncoder().fit(frame)
        features = fitted.transform(frame)
        if isinstance(made, PolynomialExpansionClassifier):
            made.fit(features, np.asarray(target, dtype=str))
            classes = made.classes_.tolist()
            return cls((), fitted, made.learners_, made.row_scale_, classes, made.slope_)
        numbers = np.asarray(target, dtype=np.float64)
        mean, spread = float(numbers.mean()), float(numbers.std()) or 1.0
        made.fit(features, (numbers - mean) / spread)
        scale = made.row_scale_
        return cls((), fitted, made.learners_, scale, offset=mean, factor=spread)

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        outputs = self.outputs(frame)
        if not self.classes:
            return np.asarray(self.offset + self.factor * outputs[:, 0].astype(np.float64))
        codes = margins_of_classes(outputs).argmax(axis=1)
        return np.array(self.classes, dtype=object)[codes]

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """See `TableModel.predict_proba`."""
        margins = margins_of_classes(self.outputs(frame))
        return exp_all(log_probabilities(margins, self.slope))

    @predicting()
    def outputs(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """Return the learners' own predictions, shape (n_rows, n_learners)."""
        found = self.encoder.transform(typed(frame, self.columns) if self.columns else frame)
        if self.row_scale:
            rows = self.row_scale.of(found)
        else:
            rows = sparse.csr_array(found, dtype=np.float32)
        with self._lock:
            return outputs(self.learners, rows)

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return {
            "encoder": dump_trusted(self.encoder),
            # Most of a table is empty.
            "learned": zlib.compress(dump_trusted((self.learners, self.row_scale)), 1),
            "classes": self.classes,
            "slope": self.slope,
            "offset": self.offset,
            "factor": self.factor,
        }

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        state = dict(file.state)
        encoder = load_trusted(state.pop("encoder"))
        learners, row_scale = load_trusted(zlib.decompress(state.pop("learned")))
        return cls(file.columns, encoder, learners, row_scale, **state)


def fitted(
    dataset: Dataset, job: Job, result: Result, learner: Any
) -> tuple[AppleModel, float | None]:
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
    model = AppleModel(
        columns, encoder(dataset, options, seed), learner,
        classes=_classes(dataset, options), offset=low, factor=high - low,
    )  # fmt: skip
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
