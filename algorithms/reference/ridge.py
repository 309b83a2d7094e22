"""Ridge regression on a stream, exact after every example; logistic for classes."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numba import njit
from pydantic import Field
from pydantic.dataclasses import dataclass

from algorithms.benches.sealed import uniform
from algorithms.errors import UsageError
from algorithms.online.learner import Learner
from algorithms.online.schema import Schema
from algorithms.reference.forecaster import Doubles, Floats, Forecaster, ReferenceForecast
from algorithms.reference.linear import MARGIN, linear_model
from algorithms.reference.many_classes import OneAgainstTheRest

MOST_FEATURES = 4096
"""One triangle of so many has 128 MB; all triangles together have no more numbers."""

CLIP = 10.0
"""Deviations from the mean beyond which a feature counts no more."""

COUNT, LOW, HIGH = 0, 1, 2
"""Of `OnlineRidge`'s totals: examples, and the range of labels seen."""


@dataclass(frozen=True, kw_only=True)
class OnlineRidge(ReferenceForecast):
    """Recursive least squares on features standardised online; logistic for classes.

    Before each example the forecast is that of the ridge regression on all examples before it,

        argmin_w  Σ (w·z_s - y_s)² + l2 Σ_{j>0} w_j²,

    with z the features less their mean and over their deviation, both of the rows before, and a
    constant that is not penalised. So it is the same whatever the scale of the features, and
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

    Forecasts are clipped to the labels seen, as Vowpal Wabbit clips. A row is standardised once,
    by the mean and deviation of its time, clipped at ±10, and is not taken up again when these
    have moved on. The model that is left to be registered is linear: it clips no feature.

    For two classes each example is a step of iteratively reweighted least squares at the present
    weights: the posterior's Laplace approximation, followed by an extended Kalman filter. The
    forecast is the margin w·z. Of more there is such a model of each against the rest, and their
    chances are scaled to 1.

    References
    ----------
    .. [1] Golub, Van Loan. Matrix computations. 4th ed., 2013, section 6.5.3.

    Examples
    --------
    >>> forecaster = OnlineRidge().forecaster(n_features=1, task="regression")
    >>> x = np.tile(np.array([[1], [3], [2]], np.float32), (100, 1))
    >>> [round(p, 1) for p in forecaster.learn_many(x, 5 * x[:, 0])[-3:].tolist()]
    [5.0, 14.9, 10.0]
    """

    l2: Annotated[float, Field(gt=0)] = 1.0

    def forecaster(self, n_features: int, task: str) -> Forecaster:
        """See `ReferenceForecast.forecaster`; UsageError for more than 4,096 features."""
        self._check_size(n_features, n_classes=0)
        return _OnlineRidge(n_features, self.l2, classes=task == "classification")

    def of_classes(self, n_features: int, n_classes: int) -> Forecaster:
        """See `ReferenceForecast.of_classes`; UsageError for too many pairs of all classes."""
        self._check_size(n_features, n_classes)
        return OneAgainstTheRest(self.forecaster(n_features, "classification"))

    def most_features(self, n_classes: int) -> int:
        """See `ReferenceForecast.most_features`: a triangle for each class, and for the rest."""
        return math.isqrt(MOST_FEATURES**2 // (n_classes + 1))

    def _check_size(self, n_features: int, n_classes: int) -> None:
        most = self.most_features(n_classes)
        if n_features > most:
            of_each = f" for each of {n_classes} classes" if n_classes else ""
            raise UsageError(
                f"{n_features} features: online-ridge keeps a number for each pair{of_each} and"
                f" takes at most {most}, leave it out of the suite"
            )

    def parameters(self) -> dict[str, Any]:
        """See `ReferenceForecast.parameters`."""
        return {"forecast": "ridge regression", "l2": self.l2}


class _OnlineRidge(Forecaster):
    def __init__(self, n_features: int, l2: float, *, classes: bool) -> None:
        self.classes = classes
        self.triangle = np.diag([0.0, *[math.sqrt(l2)] * n_features])
        self.rotated = np.zeros(n_features + 1)
        self.moments = np.zeros((2, n_features))
        self.totals = np.zeros(3)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Forecaster.learn_many`."""
        forecasts = np.empty(len(labels), dtype=np.float32)
        learn_ridge(
            uniform(examples), uniform(labels), self.classes, self.triangle, self.rotated,
            self.moments, self.totals, forecasts,
        )  # fmt: skip
        return forecasts

    def model(self, schema: Schema) -> Learner | None:
        """See `Forecaster.model`; it clips no feature."""
        weights = np.zeros(len(self.rotated))
        solve(self.triangle, self.rotated, weights)
        mean, squares = self.moments
        varied = squares > 0
        slopes = np.zeros(len(mean))
        deviations = np.sqrt(squares[varied] / self.totals[COUNT])
        slopes[varied] = weights[1:][varied] / deviations
        low, high = (-MARGIN, MARGIN) if self.classes else self.totals[[LOW, HIGH]]
        return linear_model(schema, weights[0] - slopes @ mean, slopes, low, high)


@njit(cache=True, nogil=True)
def learn_ridge(
    examples: Floats,
    labels: Floats,
    classes: bool,
    triangle: Doubles,
    rotated: Doubles,
    moments: Doubles,
    totals: Doubles,
    forecasts: Floats,
) -> None:
    """Forecast each example by the ridge regression on all before it, then learn it.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, d)
    labels : ndarray of float32, shape (n,)
    classes : bool
        Labels are -1 and 1, and the model is logistic.
    triangle, rotated : ndarray of float64, shapes (d + 1, d + 1) and (d + 1,)
        R, upper triangular, and c, so that R w = c; the constant comes first. Updated.
    moments : ndarray of float64, shape (2, d)
        Mean and sum of squared deviations of each feature; updated.
    totals : ndarray of float64, shape (3,)
        `COUNT`, `LOW` and `HIGH`; updated.
    forecasts : ndarray of float32, shape (n,)
        Written.
    """
    row, weights = np.ones(len(rotated)), np.zeros(len(rotated))
    for t in range(len(labels)):
        row[0] = 1.0
        standardise(examples[t], moments, totals[COUNT], row[1:])
        solve(triangle, rotated, weights)
        value = 0.0
        for j in range(len(row)):
            value += weights[j] * row[j]
        label = float(labels[t])
        if classes:
            forecasts[t] = value
            label = reweigh(row, value, label)
        else:
            forecasts[t] = min(max(value, totals[LOW]), totals[HIGH])
            first = totals[COUNT] == 0.0
            totals[LOW] = label if first else min(totals[LOW], label)
            totals[HIGH] = label if first else max(totals[HIGH], label)
        rotate(triangle, rotated, row, label)
        totals[COUNT] += 1.0
        add_moments(examples[t], moments, totals[COUNT])


@njit(cache=True, nogil=True)
def standardise(example: Floats | Doubles, moments: Doubles, count: float, row: Doubles) -> None:
    """Write the example's features less their mean over their deviation, clipped at `CLIP`.

    A feature that has not varied yet is 0.
    """
    for j in range(len(row)):
        if moments[1, j] > 0.0:
            value = (np.float64(example[j]) - moments[0, j]) / math.sqrt(moments[1, j] / count)
            row[j] = min(max(value, -CLIP), CLIP)
        else:
            row[j] = 0.0


@njit(cache=True, nogil=True)
def add_moments(example: Floats, moments: Doubles, count: float) -> None:
    """Take an example into the mean and the sum of squared deviations (Welford).

    Parameters
    ----------
    count : float
        Examples taken, this one included.
    """
    for j in range(len(example)):
        value = np.float64(example[j])
        difference = value - moments[0, j]
        moments[0, j] += difference / count
        moments[1, j] += difference * (value - moments[0, j])


@njit(cache=True, nogil=True)
def solve(triangle: Doubles, rotated: Doubles, weights: Doubles, known: int = 0) -> None:
    """Write w with R w = c; a weight that nothing speaks of is 0.

    Parameters
    ----------
    triangle, rotated : ndarray of float64
        R and c.
    weights : ndarray of float64
        Written.
    known : int
        How many of the last weights are there already.

    Examples
    --------
    >>> weights = np.zeros(2)
    >>> solve(np.array([[2.0, 2.0], [0.0, 4.0]]), np.array([4.0, 4.0]), weights)
    >>> weights.tolist()
    [1.0, 1.0]
    """
    for i in range(len(rotated) - known - 1, -1, -1):
        rest = rotated[i]
        for j in range(i + 1, len(rotated)):
            rest -= triangle[i, j] * weights[j]
        weights[i] = _over(rest, triangle[i, i])


@njit(cache=True, nogil=True)
def solve_both(
    triangle: Doubles,
    rotated: Doubles,
    weights: Doubles,
    larger_triangle: Doubles,
    larger_rotated: Doubles,
    larger_weights: Doubles,
) -> None:
    """`solve` two systems, the larger one last, in the time of one: either is a chain of sums.

    Examples
    --------
    >>> weights, others = np.zeros(1), np.zeros(2)
    >>> larger = np.array([[2.0, 2.0], [0.0, 4.0]]), np.array([4.0, 4.0])
    >>> solve_both(np.array([[2.0]]), np.array([6.0]), weights, *larger, others)
    >>> weights.tolist(), others.tolist()
    ([3.0], [1.0, 1.0])
    """
    more = len(larger_rotated) - len(rotated)
    for i in range(len(rotated) - 1, -1, -1):
        rest, other_rest = rotated[i], larger_rotated[more + i]
        row, found = triangle[i, i + 1 :], weights[i + 1 :]
        other_row = larger_triangle[more + i, more + i + 1 :]
        other_found = larger_weights[more + i + 1 :]
        for j in range(len(found)):
            rest -= row[j] * found[j]
            other_rest -= other_row[j] * other_found[j]
        weights[i] = _over(rest, triangle[i, i])
        larger_weights[more + i] = _over(other_rest, larger_triangle[more + i, more + i])
    solve(larger_triangle, larger_rotated, larger_weights, len(rotated))


@njit(cache=True, nogil=True)
def _over(rest: float, diagonal: float) -> float:
    return rest / diagonal if diagonal != 0.0 else 0.0


@njit(cache=True, nogil=True)
def rotate(triangle: Doubles, rotated: Doubles, row: Doubles, label: float) -> None:
    """Take the equation ``row · w = label`` into R and c by Givens rotations; `row` is spent.

    Examples
    --------
    >>> triangle, rotated = np.diag([3.0, 0.0]), np.array([0.0, 0.0])
    >>> rotate(triangle, rotated, np.array([4.0, 0.0]), 5.0)
    >>> triangle.tolist(), rotated.tolist()
    ([[5.0, 0.0], [0.0, 0.0]], [4.0, 0.0])
    """
    for i in range(len(row)):
        if row[i] == 0.0:
            continue
        radius = math.hypot(triangle[i, i], row[i])
        cosine, sine = triangle[i, i] / radius, row[i] / radius
        uppers, lowers = triangle[i, i:], row[i:]
        for j in range(len(lowers)):
            upper, lower = uppers[j], lowers[j]
            uppers[j] = cosine * upper + sine * lower
            lowers[j] = cosine * lower - sine * upper
        upper = rotated[i]
        rotated[i] = cosine * upper + sine * label
        label = cosine * label - sine * upper


@njit(cache=True, nogil=True)
def reweigh(row: Doubles, margin: float, label: float) -> float:
    """Scale `row` by the root of the logistic weight; return the working response so scaled."""
    bounded = min(max(margin, -15.0), 15.0)
    chance = 1.0 / (1.0 + math.exp(-bounded))
    scale = math.sqrt(chance * (1.0 - chance))
    for j in range(len(row)):
        row[j] *= scale
    return scale * margin + ((label > 0.0) - chance) / scale
