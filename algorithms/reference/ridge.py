"""Reference predictors: one model without hyperparameters to tune; a ridge regression is one.

Of two classes at most a predictor predicts numbers, of more the probability of each that came.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.environments.stream import OneModel, StreamEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.steps import learn_ridge, products, weights_of
from leaseboard.algorithms.transcendental import exp_all

MOST_NUMBERS = 4096**2
"""Of all triangles together, one for each class: 128 MB."""

MOST_RIDGE = 1024
"""With more features the regression is on selected ones: on all it costs 4 d² an example."""

COUNT, LOW, HIGH = 0, 1, 2
"""Of `OnlineRidge`'s totals: examples, and the range of labels seen."""


class Predictor(Saved, ABC):
    """Predictor of each example before it learns its label; two classes are -1 and 1."""

    @abstractmethod
    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """Learn a block in order; return its progressive predictions, shape (n_examples,).

        Of any number of classes, which are 0, 1, 2, ... in the order in which they come, return
        probabilities, shape (n_examples, n_classes), of those that came until its end.

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        labels : ndarray of float32, shape (n_examples,)
        """

    @abstractmethod
    def predict_waiting(self, examples: Floats, pending: int) -> Floats | Doubles:
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""

    def notes(self) -> dict[str, float]:
        """Return metrics of what it found, in addition to its score."""
        return {}

    def grow(self, n_features: int) -> None:
        """Go on with so many features; those that are new were 0 so far."""

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        """All attributes, see `Saved`."""
        return tuple(vars(self))


@dataclass(frozen=True, kw_only=True)
class ReferencePrediction(OneModel):
    """Algorithm that is one predictor: nothing is searched, leased or tested."""

    baseline: ClassVar[bool] = True
    prediction: ClassVar[str]
    """What it predicts with, in a few words."""

    @abstractmethod
    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """Return one that has seen nothing.

        Parameters
        ----------
        n_features : int
        task : "regression" or "classification"
        n_classes : int, optional
            One for any number of classes, which predicts probabilities. How many will come matters
            for the memory that they take. Without it there are two at most.
        """

    def model(self, env: StreamEnvironment) -> Predictor:
        """See `OneModel.model`."""
        n_classes = len(env.stream.classes) or None
        return self.predictor(env.stream.features.shape[1], env.stream.task, n_classes)

    def parameters(self) -> Parameters:
        """See `OneModel.parameters`."""
        return {"prediction": self.prediction, **settings_of(self)}


def one_hot(numbers: Floats, n_classes: int) -> Doubles:
    """Return probability 1 for the class of each number; 0 for all classes where it is -1.

    Examples
    --------
    >>> one_hot(np.float32([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return np.asarray(numbers[:, None] == np.arange(n_classes), dtype=np.float64)


class OneAgainstTheRest(Predictor):
    """Predictor of two classes for each class against the rest; their probabilities, scaled to 1.

    One that comes late goes on from what has learned that everything is the rest, which is what
    it would have learned: so it is as if it had been there from the beginning.

    Parameters
    ----------
    rest : Predictor
        It predicts log odds, and has seen nothing.
    """

    def __init__(self, rest: Predictor) -> None:
        self.rest = rest
        self.each: list[Predictor] = []

    def grow(self, n_features: int) -> None:
        """See `Predictor.grow`."""
        for predictor in (self.rest, *self.each):
            predictor.grow(n_features)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Predictor.fill`."""
        self.each = [copy.deepcopy(self.rest) for _ in state["each"]]
        super().fill(state)

    def notes(self) -> dict[str, float]:
        """See `Predictor.notes`; those of the predictor for a class that has not come."""
        return self.rest.notes()

    def learn_many(self, examples: Floats, labels: Floats) -> Doubles:
        """See `Predictor.learn_many`; return probabilities, shape (n_examples, n_classes)."""
        margins = np.full((len(labels), max(len(self.each), 1 + int(labels.max()))), -np.inf)
        for k in range(margins.shape[1]):
            begin = 0
            if k == len(self.each):
                self.each.append(copy.deepcopy(self.rest))
                begin = 1 + int(np.argmax(labels == k))
            against = np.where(labels == k, 1, -1).astype(np.float32)
            margins[begin:, k] = self.each[k].learn_many(examples, against)[begin:]
        self.rest.learn_many(examples, np.full(len(labels), -1, dtype=np.float32))
        return _shares(margins)

    def predict_waiting(self, examples: Floats, pending: int) -> Doubles:
        """See `Predictor.predict_waiting`."""
        margins = [each.predict_waiting(examples, pending) for each in self.each]
        return _shares(np.array(margins, dtype=np.float64).reshape(-1, len(examples)).T)


def _shares(margins: Doubles) -> Doubles:
    """Return the probabilities of log odds, scaled to 1."""
    with np.errstate(over="ignore"):
        found = 1.0 / (1.0 + exp_all(-margins))
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True, kw_only=True)
class OnlineRidge(ReferencePrediction):
    """Recursive least squares on features standardised online; logistic for classes.

    Before each example the prediction is that of the ridge regression on all examples before it,

        argmin_w  Σ (w·z_s - y_s)² + l2 Σ_{j>0} w_j²,

    with z the features less their mean and over their deviation, both of all rows so far, and a
    constant that is not penalised. So it is the same on any scale of the features, and
    shifts and scales with the target.

    Parameters
    ----------
    l2 : float
        The penalty λ of each weight but the constant's.

    Notes
    -----
    The triangle R of the normal equations' Cholesky factor is rotated, which is exact to rounding
    however long the stream is [1]_; a recursion of the inverse is not. An example costs about
    4 d² multiplications.

    Predictions are clipped to the labels seen, as Vowpal Wabbit clips. A row is clipped at ±10 in
    the means and deviations of its own time; then these change with each row, and all rows before
    are expressed in them, for which R is enough. The penalty of a weight shrinks as the deviation
    of its feature grows, and is restored when it has less than half of `l2`.

    For two classes each example is a step of iteratively reweighted least squares at the present
    weights: the posterior's Laplace approximation, followed by an extended Kalman filter. The
    prediction is the margin w·z. Of more there is such a model of each against the rest, and their
    probabilities are scaled to 1.

    Beyond `MOST_RIDGE` features, or where the triangles of many classes would have more than
    `MOST_NUMBERS`, the regression is on up to 64 selected features and the labels' past: it is the
    baseline of that name in the default for streams
    (`leaseboard.algorithms.online_automl.safe.expansion`), which learns labels clipped to a range.
    The metric ``selected_features`` of a job says so, and how many.

    References
    ----------
    .. [1] Golub, Van Loan. Matrix computations. 4th ed., 2013, section 6.5.3.

    Examples
    --------
    >>> predictor = OnlineRidge().predictor(n_features=1, task="regression")
    >>> x = np.tile(np.array([[1], [3], [2]], np.float32), (100, 1))
    >>> [round(p, 1) for p in predictor.learn_many(x, 5 * x[:, 0])[-3:].tolist()]
    [5.0, 15.0, 10.0]
    """

    l2: Annotated[float, Field(gt=0)] = 1.0

    prediction: ClassVar[str] = "ridge regression"

    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """See `ReferencePrediction.predictor`."""
        if n_classes is None:
            return self._predictor(n_features, classes=task == "classification", n_classes=0)
        return OneAgainstTheRest(self._predictor(n_features, True, n_classes))

    def _predictor(self, n_features: int, classes: bool, n_classes: int) -> Predictor:
        if on_all(n_features, n_classes + 1):
            return _OnlineRidge(n_features, self.l2, classes=classes)
        if self.l2 != 1.0:
            raise UsageError(
                f"l2 = {self.l2:g} of {n_features} features: beyond {MOST_RIDGE} the regression is"
                " on selected features, whose l2 is 1; leave l2 out"
            )
        return _SelectedRidge(n_features, classes, n_classes)


def on_all(n_features: int, shares: int) -> bool:
    """Return whether each of `shares` ridge regressions is on all features.

    Examples
    --------
    >>> [on_all(1024, 16), on_all(1024, 17), on_all(1025, 1)]
    [True, False, False]
    """
    return n_features <= min(MOST_RIDGE, math.isqrt(MOST_NUMBERS // shares))


class _OnlineRidge(Predictor):
    def __init__(self, n_features: int, l2: float, *, classes: bool) -> None:
        self.classes, self.l2 = classes, l2
        self.triangle = np.zeros((1, 1))
        self.rotated, self.penalties = np.zeros(1), np.ones(1)
        self.moments = np.zeros((2, 0))
        self.grow(n_features)
        self.totals = np.zeros(3)

    def grow(self, n_features: int) -> None:
        """See `Predictor.grow`: a feature that has been 0 has left its rows as they began."""
        known = len(self.rotated)
        new = n_features + 1 - known
        self.triangle = np.pad(self.triangle, (0, new))
        np.fill_diagonal(self.triangle[known:, known:], math.sqrt(self.l2))
        self.rotated = np.pad(self.rotated, (0, new))
        self.penalties = np.pad(self.penalties, (0, new), constant_values=1.0)
        self.moments = np.pad(self.moments, ((0, 0), (0, new)))

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        predictions = np.empty(len(labels), dtype=np.float32)
        block = map(np.ascontiguousarray, (examples, labels))
        regression = self.triangle, self.rotated, self.penalties, self.l2
        learn_ridge(*block, self.classes, *regression, self.moments, self.totals, predictions)
        return predictions

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`."""
        weights = weights_of(self.triangle, self.rotated)
        examples = np.ascontiguousarray(examples)
        found: Doubles = products(examples, weights, self.moments, self.totals[COUNT])
        return (found if self.classes else np.clip(found, *self.totals[LOW:])).astype(np.float32)


class _SelectedRidge(Predictor):
    def __init__(self, n_features: int, classes: bool, n_classes: int) -> None:
        from leaseboard.algorithms.online_automl.safe.expansion import FeatureExpansion

        self.expansion = FeatureExpansion(n_features, classes, shares=n_classes + 1)

    def grow(self, n_features: int) -> None:
        """See `Predictor.grow`."""
        if n_features > self.expansion.moments.shape[1]:
            self.expansion.grow(n_features)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        looks = map(self.expansion.look, np.ascontiguousarray(examples), labels.tolist())
        return self._margins(looks)

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`: by the last labels that are known."""
        return self._margins(map(self.expansion.look, np.ascontiguousarray(examples)))

    def _margins(self, looks: Iterable[Any]) -> Floats:
        from leaseboard.algorithms.online_automl.safe.expansion import RIDGE_ON_PAST

        found = np.array([each.values[RIDGE_ON_PAST] for each in looks])
        if self.expansion.classes:  # the margin of a probability
            found = 2.0 * np.arctanh(np.clip(found, -1.0 + 1e-12, 1.0 - 1e-12))
        return found.astype(np.float32)

    def notes(self) -> dict[str, float]:
        """See `Predictor.notes`."""
        return {"selected_features": float((self.expansion.slots >= 0).sum())}
