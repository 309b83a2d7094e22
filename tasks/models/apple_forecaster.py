"""apple on mixed columns, with their encoder, in one file without pickles that says no more.

The estimators of apple learn on, which takes more state than forecasts do. What is kept here is
what a forecast depends on, and is checked before a kernel sees it, see
`leaseboard.algorithms.apple.saved`.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms import plain
from leaseboard.algorithms.apple.rate_models import log_chances, margins_of_classes
from leaseboard.algorithms.apple.rows import ColumnScale
from leaseboard.algorithms.apple.saved import learner_of, state_of
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import trusted
from leaseboard.tasks.preprocess.tables import TableEncoder

FORMAT = "leaseboard-apple-forecaster-1"


class AppleForecaster:
    """Forecasts numbers, or the chances of classes, from rows as they came.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    scales : sequence of ColumnScale
        What becomes of each feature before it is multiplied.
    learners : sequence of MonomialLearner
        One; of three and more classes one for each.
    classes : sequence of str
        None of a regression.
    slope : float
        Of classes: what chances are made of margins with.
    mean, spread : float
        Of a regression: the unit in which the target was learned.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(["x", "y"], 500)})
    >>> target = 100 + 5 * rows["a"] * (rows["b"] == "x")
    >>> model = AppleForecaster.fitted(rows, target, "regression", {"random_state": 0})
    >>> bool(np.corrcoef(model.predict(rows), target)[0, 1] > 0.99)
    True
    """

    def __init__(
        self,
        encoder: TableEncoder,
        scales: Sequence[ColumnScale],
        learners: Sequence[Any],
        classes: Sequence[str] = (),
        slope: float = 1.0,
        mean: float = 0.0,
        spread: float = 1.0,
    ) -> None:
        self.encoder, self.scales, self.learners = encoder, tuple(scales), tuple(learners)
        self.classes_ = tuple(classes)
        self.slope, self.mean, self.spread = slope, mean, spread

    @classmethod
    def fitted(
        cls,
        frame: pd.DataFrame,
        target: Any,
        task: Literal["regression", "classification"],
        settings: Mapping[str, Any],
    ) -> Self:
        """Learn from rows and their targets.

        - `settings`: of `AppleRegressor` or `AppleClassifier`.
        """
        from leaseboard.algorithms.apple.classifier import AppleClassifier
        from leaseboard.algorithms.apple.estimator import AppleRegressor

        encoder = TableEncoder().fit(frame)
        features = encoder.transform(frame)
        if task == "classification":
            made = AppleClassifier(**settings).fit(features, np.asarray(target, dtype=str))
            return cls(encoder, made.row_scale_.columns, made.learners_,
                       made.classes_.tolist(), made.slope_)  # fmt: skip
        numbers = np.asarray(target, dtype=np.float64)
        mean, spread = float(numbers.mean()), float(numbers.std()) or 1.0
        learned = AppleRegressor(**settings).fit(features, (numbers - mean) / spread)
        return cls(encoder, learned.row_scale_.columns, learned.learners_,
                   mean=mean, spread=spread)  # fmt: skip

    def predict(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """What the target will be, shape (n_rows,)."""
        return self.mean + self.spread * self._margins(frame)[:, 0].astype(np.float64)

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The chance of each class, shape (n_rows, n_classes)."""
        margins = margins_of_classes(self._margins(frame))
        return np.asarray(np.exp(log_chances(margins, self.slope)))

    def save(self, path: Path) -> None:
        """Write it as one file."""
        with tempfile.TemporaryDirectory() as folder:
            trusted.dump(self.encoder, Path(folder) / "encoder")
            encoder = (Path(folder) / "encoder").read_bytes()
        state = {
            "encoder": encoder,
            "scales": [dataclasses.astuple(each) for each in self.scales],
            "learners": [state_of(each) for each in self.learners],
            "classes": list(self.classes_),
            "numbers": (self.slope, self.mean, self.spread),
        }
        plain.write(path, state, FORMAT)

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote; UsageError for any other file."""
        try:
            state = plain.read(path, FORMAT)
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "encoder").write_bytes(state["encoder"])
                encoder = trusted.load(Path(folder) / "encoder")
            scales = [ColumnScale(*each) for each in state["scales"]]
            learners = [learner_of(each) for each in state["learners"]]
            found = cls(encoder, scales, learners, state["classes"], *state["numbers"])
        except (LookupError, TypeError, ValueError) as error:
            raise UsageError(f"{path.name!r} holds no model of apple of this version") from error
        if any(each.n_variables != len(scales) for each in learners):
            raise UsageError(f"{path.name!r} holds learners of other columns than its encoder's")
        return found

    def _margins(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        features = self.encoder.transform(frame)
        scaled = np.empty(features.shape, dtype=np.float32)
        for place, scale in enumerate(self.scales):
            scaled[:, place] = scale.of(features[:, place])
        return np.column_stack([each.predict(scaled) for each in self.learners])
