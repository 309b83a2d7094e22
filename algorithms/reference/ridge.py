"""Ridge regression on a stream, exact after every example; logistic for classes."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.reference.predictor import (
    MARGIN,
    OneAgainstTheRest,
    Predictor,
    ReferencePrediction,
    linear_model,
)
from leaseboard.algorithms.transcendental import exp

MOST_NUMBERS = 4096**2
"""Of all triangles together, one for each class: 128 MB."""

MOST_RIDGE = 1024
"""With more features the regression is on selected ones: on all it costs 4 d² an example."""

BLOCK = 64
"""Examples of very many features that a regression on selected ones takes at a time."""

TOGETHER = 8
"""Rows that are solved together, where they are long."""

CLIP = 10.0
"""Deviations from the mean beyond which a feature counts no more."""

STEEPEST = 15.0
"""Bound of the log odds at which a logistic weight is computed, so that it is not 0."""

COUNT, LOW, HIGH = 0, 1, 2
"""Of `OnlineRidge`'s totals: examples, and the range of labels seen."""


@dataclass(frozen=True, kw_only=True)
class OnlineRidge(ReferencePrediction):
    """Recursive least squares on features standardised online; logistic for classes.

    Before each example the prediction is that of the ridge regression on all examples before it,

        argmin_w  Σ (w·z_s - y_s)² + l2 Σ_{j>0} w_j²,

    with z the features less their mean and over their deviation, both of the rows before, and a
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

    Predictions are clipped to the labels seen, as Vowpal Wabbit clips. A row is standardised once,
    by the mean and deviation of its time, clipped at ±10, and is not taken up again when these
    have moved on. The model that is left to be registered is linear: it clips no feature.

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
    [5.0, 14.9, 10.0]
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
        self.rotated = np.zeros(1)
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
        self.moments = np.pad(self.moments, ((0, 0), (0, new)))

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        predictions = np.empty(len(labels), dtype=np.float32)
        learn_ridge(
            uniform(examples), uniform(labels), self.classes, self.triangle, self.rotated,
            self.moments, self.totals, predictions,
        )  # fmt: skip
        return predictions

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`."""
        weights = np.zeros(len(self.rotated))
        solve_long(self.triangle, self.rotated, weights)
        found = products(uniform(examples), weights, self.moments, self.totals[COUNT])
        return (found if self.classes else np.clip(found, *self.totals[LOW:])).astype(np.float32)

    def model(self, schema: Schema) -> Learner | None:
        """See `Predictor.model`; it clips no feature."""
        weights = np.zeros(len(self.rotated))
        solve(self.triangle, self.rotated, weights)
        mean, squares = self.moments
        varied = squares > 0
        slopes = np.zeros(len(mean))
        deviations = np.sqrt(squares[varied] / self.totals[COUNT])
        slopes[varied] = weights[1:][varied] / deviations
        low, high = (-MARGIN, MARGIN) if self.classes else self.totals[[LOW, HIGH]]
        return linear_model(schema, weights[0] - (slopes * mean).sum(), slopes, low, high)


class _SelectedRidge(Predictor):
    def __init__(self, n_features: int, classes: bool, n_classes: int) -> None:
        from leaseboard.algorithms.online_automl.safe.expansion import FeatureExpansion

        self.expansion = FeatureExpansion(n_features, classes, shares=n_classes + 1)

    def grow(self, n_features: int) -> None:
        """See `Predictor.grow`."""
        if n_features > self.expansion.known.moments.shape[1]:
            self.expansion.grow(n_features)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        from leaseboard.algorithms.online_automl.safe.expansion import RIDGE_ON_PAST, simple_of

        found = np.concatenate(
            [
                simple_of(self.expansion, examples[start : start + BLOCK], labels[start:][:BLOCK])
                for start in range(0, len(labels), BLOCK)
            ]
        )[:, RIDGE_ON_PAST]
        return self._margins(found)

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`: by the last labels that are known."""
        from leaseboard.algorithms.online_automl.safe.expansion import RIDGE_ON_PAST

        looks = [self.expansion.look(example).values[0, RIDGE_ON_PAST] for example in examples]
        return self._margins(np.array(looks))

    def _margins(self, found: Doubles) -> Floats:
        if self.expansion.classes:  # the margin of a probability
            found = 2.0 * np.arctanh(np.clip(found, -1.0 + 1e-12, 1.0 - 1e-12))
        return found.astype(np.float32)

    def notes(self) -> dict[str, float]:
        """See `Predictor.notes`."""
        return {"selected_features": float((self.expansion.known.slots >= 0).sum())}


@compiled
def learn_ridge(
    examples: Floats,
    labels: Floats,
    classes: bool,
    triangle: Doubles,
    rotated: Doubles,
    moments: Doubles,
    totals: Doubles,
    predictions: Floats,
) -> None:
    """Predict each example by the ridge regression on all before it, then learn it.

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
    predictions : ndarray of float32, shape (n,)
        Written.
    """
    row, weights = np.ones(len(rotated)), np.zeros(len(rotated))
    for t in range(len(labels)):
        # The row, the constant first, and the regression on all rows before.
        row[0] = 1.0
        standardise(examples[t], moments, totals[COUNT], row[1:])
        solve_long(triangle, rotated, weights)
        value = 0.0
        for j in range(len(row)):
            value += weights[j] * row[j]
        # Of classes the prediction is the margin, of numbers it is clipped to the labels seen.
        label = float(labels[t])
        if classes:
            predictions[t] = value
            label = reweigh(row, value, label)
        else:
            predictions[t] = min(max(value, totals[LOW]), totals[HIGH])
            first = totals[COUNT] == 0.0
            totals[LOW] = label if first else min(totals[LOW], label)
            totals[HIGH] = label if first else max(totals[HIGH], label)
        # Learn the row, then its means and deviations.
        rotate(triangle, rotated, row, label)
        totals[COUNT] += 1.0
        add_moments(examples[t], moments, totals[COUNT])


@compiled
def products(examples: Floats, weights: Doubles, moments: Doubles, count: float) -> Doubles:
    """Return w·z of each example, as `learn_ridge` has it of the next one."""
    row, found = np.ones(len(weights)), np.zeros(len(examples))
    for t in range(len(examples)):
        standardise(examples[t], moments, count, row[1:])
        for j in range(len(row)):
            found[t] += weights[j] * row[j]
    return found


@compiled
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


@compiled
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


@compiled
def solve(triangle: Doubles, rotated: Doubles, weights: Doubles, known: int = 0) -> None:
    """Write w with R w = c; a weight whose diagonal is 0 is 0.

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
        rest = _less(rotated[i], triangle[i, i + 1 :], weights[i + 1 :])
        weights[i] = _over(rest, triangle[i, i])


@compiled
def solve_long(triangle: Doubles, rotated: Doubles, weights: Doubles) -> None:
    """Do `solve` where rows may be long: `TOGETHER` sums at a time do not wait for each other."""
    i = n = len(rotated)
    while i > 0:
        if i < TOGETHER or n - i < 10 * TOGETHER:
            i -= 1
            rest = _less(rotated[i], triangle[i, i + 1 :], weights[i + 1 :])
            weights[i] = _over(rest, triangle[i, i])
            continue
        # The sums of the next rows over all weights that are known.
        i -= TOGETHER
        a, b, c, d = triangle[i], triangle[i + 1], triangle[i + 2], triangle[i + 3]
        e, f, g, h = triangle[i + 4], triangle[i + 5], triangle[i + 6], triangle[i + 7]
        p = q = r = s = t = u = v = w = 0.0
        for j in range(i + TOGETHER, n):
            p, q = p + a[j] * weights[j], q + b[j] * weights[j]
            r, s = r + c[j] * weights[j], s + d[j] * weights[j]
            t, u = t + e[j] * weights[j], u + f[j] * weights[j]
            v, w = v + g[j] * weights[j], w + h[j] * weights[j]
        # Solve these rows from the last on, with the weights found among themselves.
        end = i + TOGETHER
        for k, done in enumerate((w, v, u, t, s, r, q, p)):
            row = end - 1 - k
            found = weights[row + 1 : end]
            rest = _less(rotated[row] - done, triangle[row, row + 1 : end], found)
            weights[row] = _over(rest, triangle[row, row])


@compiled
def _less(rest: float, row: Doubles, found: Doubles) -> float:
    """Return what the weights that are found leave of `rest`."""
    for j in range(len(found)):
        rest -= row[j] * found[j]
    return rest


@compiled
def solve_both(
    triangle: Doubles,
    rotated: Doubles,
    weights: Doubles,
    larger_triangle: Doubles,
    larger_rotated: Doubles,
    larger_weights: Doubles,
) -> None:
    """Do `solve` for two systems in the time of one: either alone is a chain of sums.

    The smaller system comes first.

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


@compiled
def _over(rest: float, diagonal: float) -> float:
    return rest / diagonal if diagonal != 0.0 else 0.0


@compiled
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
        # The rotation that takes row[i] into the diagonal, applied to the rest of both rows.
        radius = math.hypot(triangle[i, i], row[i])
        cosine, sine = triangle[i, i] / radius, row[i] / radius
        _turn(triangle[i, i:], row[i:], cosine, sine)
        upper = rotated[i]
        rotated[i] = cosine * upper + sine * label
        label = cosine * label - sine * upper


@compiled
def rotate_both(
    triangle: Doubles,
    rotated: Doubles,
    row: Doubles,
    label: float,
    other_triangle: Doubles,
    other_rotated: Doubles,
    other_row: Doubles,
    other_label: float,
) -> None:
    """Do `rotate` for two systems in little more than the time of one: each alone is a chain.

    Examples
    --------
    >>> triangle, rotated = np.diag([3.0, 0.0]), np.array([0.0, 0.0])
    >>> other, its = np.array([[3.0]]), np.array([0.0])
    >>> rotate_both(other, its, np.array([4.0]), 5.0, triangle, rotated, np.array([0.0, 2.0]), 1.0)
    >>> other.tolist(), its.tolist(), triangle.tolist(), rotated.tolist()
    ([[5.0]], [4.0], [[3.0, 0.0], [0.0, 2.0]], [0.0, 1.0])
    """
    for i in range(max(len(row), len(other_row))):
        turns = i < len(row) and row[i] != 0.0
        other_turns = i < len(other_row) and other_row[i] != 0.0
        cosine = sine = other_cosine = other_sine = 0.0
        # Both rotations before either is applied.
        if turns:
            radius = math.hypot(triangle[i, i], row[i])
            cosine, sine = triangle[i, i] / radius, row[i] / radius
        if other_turns:
            radius = math.hypot(other_triangle[i, i], other_row[i])
            other_cosine, other_sine = other_triangle[i, i] / radius, other_row[i] / radius
        if turns:
            _turn(triangle[i, i:], row[i:], cosine, sine)
            upper = rotated[i]
            rotated[i] = cosine * upper + sine * label
            label = cosine * label - sine * upper
        if other_turns:
            _turn(other_triangle[i, i:], other_row[i:], other_cosine, other_sine)
            upper = other_rotated[i]
            other_rotated[i] = other_cosine * upper + other_sine * other_label
            other_label = other_cosine * other_label - other_sine * upper


@compiled
def _turn(uppers: Doubles, lowers: Doubles, cosine: float, sine: float) -> None:
    """Apply a rotation to the rest of two rows."""
    for j in range(len(lowers)):
        upper, lower = uppers[j], lowers[j]
        uppers[j] = cosine * upper + sine * lower
        lowers[j] = cosine * lower - sine * upper


@compiled
def reweigh(row: Doubles, margin: float, label: float) -> float:
    """Scale `row` by the root of the logistic weight; return the working response so scaled."""
    bounded = min(max(margin, -STEEPEST), STEEPEST)
    probability = 1.0 / (1.0 + exp(-bounded))
    scale = math.sqrt(probability * (1.0 - probability))
    for j in range(len(row)):
        row[j] *= scale
    return scale * margin + ((label > 0.0) - probability) / scale
