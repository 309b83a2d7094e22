"""Judge of a trial: any scorer of scikit-learn, on predictions that are already made."""

import inspect
import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

Floats = NDArray[Any]

FASTEST = {"classification": "accuracy", "regression": "r2"}
"""Default metrics of scikit-learn's own estimators."""


@dataclass(frozen=True, eq=False)
class Judge:
    """Score of predictions by a scorer, and the same as a reward in [0, 1].

    A class may have no row among these: a scorer of probabilities that takes ``labels`` gets all
    classes; another one, as of ranks, gets the columns of the classes that have rows. Of two
    classes the second is positive, unless the scorer or its function names one of them.

    A reward rises with the score. Where the score is one of classes, whose best is 1 and which is
    never negative, it is the reward. Any other score s is mapped by those of perfect
    predictions, s₁, and of the best constant one, s₀, to 1 / (1 + (s₁ - s) / (s₁ - s₀)):
    1 for perfect ones, 1/2 for the constant.

    Parameters
    ----------
    scoring : str or callable
        The name of a scorer of scikit-learn, or one as ``make_scorer`` gives it:
        ``scoring(estimator, X, y)``.
    targets : ndarray of shape (n_rows,)
        Of the rows on which predictions are judged: classes by name, or numbers.
    classes : ndarray of shape (n_classes,), optional
        All classes, in the order of the columns of probabilities; None for a regression.
    weights : ndarray of shape (n_rows,), optional
        Of the rows, for scorers that take ``sample_weight``.

    Raises
    ------
    ValueError
        If the scorer cannot judge such targets, or gives no finite number for them. A scorer
        without ``sample_weight`` raises TypeError if rows have weights.
    """

    scoring: Any
    targets: Floats
    classes: Floats | None = None
    weights: Floats | None = None

    def score(self, predictions: Floats) -> float:
        """Score `predictions`, shape (n_rows, n_classes) for probabilities, or (n_rows,).

        They are of all rows, or of the first ones.
        """
        targets, n_rows = self.targets[: len(predictions)], len(predictions)
        given = {} if self.weights is None else {"sample_weight": self.weights[:n_rows]}
        if self.scoring == "accuracy":  # most searches; the scorer takes ten times as long
            assert self.classes is not None
            hits = self.classes[predictions.argmax(axis=1)] == targets
            return float(np.average(hits, weights=given.get("sample_weight")))
        rows, scorers = np.arange(n_rows)[:, None], [self._scorer]
        if self.classes is None:
            made: Any = _Regression(predictions)
        else:
            known = np.isin(self.classes, targets)
            asked = getattr(self._scorer, "_response_method", "predict")
            function = getattr(self._scorer, "_score_func", self._scorer)
            parameters = inspect.signature(function).parameters
            if known.all() or asked == "predict":
                known[:] = True
            elif "labels" in parameters and "multi_class" not in parameters:
                known[:], scorers = True, [_with(self._scorer, labels=self.classes)]
            elif "pos_label" in parameters and known.sum() == 2 < len(known):
                scorers = [_with(self._scorer, pos_label=each) for each in self.classes[known]]
            elif known.sum() < 2:  # which ranks nothing, as the scorer says
                known[:] = True
            made = _Classification(predictions[:, known], self.classes[known])
        return float(np.mean([scorer(made, rows, targets, **given) for scorer in scorers]))

    def reward(self, score: float) -> float:
        """Return `score` in [0, 1]; NaN stays NaN."""
        best, constant = self.ends
        if math.isnan(score):
            return math.nan
        if self.classes is not None and best == 1.0 and constant >= 0.0:  # a share
            return min(1.0, max(0.0, score))
        if not constant < best:
            return float(score >= best)
        return min(1.0, 1 / (1 + max(0.0, best - score) / (best - constant)))

    @property
    def probabilistic(self) -> bool:
        """Whether it needs probabilities themselves, and not only their order."""
        return getattr(self._scorer, "_response_method", "") == "predict_proba"

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Scores of perfect predictions and of the best constant one."""
        targets, classes = self.targets, self.classes
        if classes is None:
            perfect = targets.astype(np.float64)
            middle = np.mean(targets), np.median(targets)
            constants = [np.full(len(targets), value, dtype=np.float64) for value in middle]
        else:
            perfect = (targets[:, None] == classes).astype(np.float64)
            constants = [np.tile(perfect.mean(axis=0), (len(targets), 1))]
        best = self.score(perfect)
        constant = max(self.score(each) for each in constants)
        if not math.isfinite(best):
            raise ValueError(
                f"scoring={self.scoring!r} gives {best} even for perfect predictions of these"
                f" {len(targets)} rows: name another scorer or give more rows"
            )
        return best, constant

    @cached_property
    def _scorer(self) -> Any:
        scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        given = getattr(scorer, "_kwargs", {"pos_label": None})  # any other callable is complete
        two = [] if self.classes is None else self.classes.tolist()
        if "pos_label" in given or len(two) != 2:
            return scorer
        own = inspect.signature(scorer._score_func).parameters.get("pos_label")  # noqa: SLF001
        if own is None or own.default in two:
            return scorer
        return _with(
            scorer, pos_label=two[1] if given.get("average", "binary") == "binary" else None
        )


def _with(scorer: Any, **options: Any) -> Any:
    scorer = copy(scorer)
    scorer._kwargs = {**scorer._kwargs, **options}  # noqa: SLF001 - it has no other setter
    return scorer


class _Made(BaseEstimator):
    """Estimator whose predictions are made already; its X are their row numbers."""

    def __init__(self, predictions: Floats) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any = None) -> Any:  # scikit-learn asks whether there is one
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _rows(self, X: Any) -> Floats:
        return self.predictions[np.asarray(X)[:, 0]]


class _Regression(RegressorMixin, _Made):
    def predict(self, X: Any) -> Floats:
        return self._rows(X)


class _Classification(ClassifierMixin, _Made):
    def __init__(self, predictions: Floats, classes: Floats) -> None:
        super().__init__(predictions)
        self.classes_ = classes

    def predict_proba(self, X: Any) -> Floats:
        rows = self._rows(X).astype(np.float64)
        total = rows.sum(axis=1, keepdims=True)  # float32 sums to 1 only nearly, some columns less
        return np.divide(rows, total, out=np.full_like(rows, 1 / rows.shape[1]), where=total > 0)

    def predict(self, X: Any) -> Floats:
        return self.classes_[self._rows(X).argmax(axis=1)]
