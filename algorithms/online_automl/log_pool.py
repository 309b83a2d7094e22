"""Logarithmic pool of probabilities: their product, each to a power that is learned."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles
from leaseboard.algorithms.online_automl.members.class_pool import (
    FORGETTING,
    LARGEST_WEIGHT,
    PRIOR,
)
from leaseboard.algorithms.online_automl.members.trees import soften
from leaseboard.algorithms.plain import Saved

Integers = NDArray[np.int64]


class LogPool(Saved):
    """Chances in proportion to Π_m p_m(k)^w_m, with weights w that learn online.

    A predictor that is less sure than right has a weight above 1, one that repeats another none.
    Each label is a step of Newton's method on the log loss, whose gradient is the difference
    between the logarithms of the class that came and their mean, and whose curvature is their
    covariance, both under the pool's own probabilities; the curvature forgets. At first the pool
    is its first predictor.

    Parameters
    ----------
    n_predictors : int

    References
    ----------
    .. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.

    Examples
    --------
    >>> pool = LogPool(2)
    >>> probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    >>> found = pool.learn(np.log([probabilities] * 20), np.full(20, 2), np.ones(20))
    >>> found[0].round(2).tolist(), bool(found[-1, 2] > 0.7)
    ([0.5, 0.3, 0.2], True)
    """

    kept: ClassVar[tuple[str, ...]] = ("weights", "curvature")

    def __init__(self, n_predictors: int) -> None:
        self.weights = np.eye(n_predictors)[0].copy()
        self.curvature = PRIOR * np.eye(n_predictors)

    def learn(self, logs: Doubles, classes: Integers, worths: Doubles) -> Doubles:
        """Learn a block; return its progressive probabilities, shape (n, n_classes).

        Parameters
        ----------
        logs : ndarray of float64, shape (n, n_predictors, n_classes)
            The logarithms of the predictors' probabilities.
        classes : ndarray of int64, shape (n,)
            Those that came.
        worths : ndarray of float64, shape (n,)
            At most 1; an example that is worth 0 teaches nothing.
        """
        found = np.empty((len(logs), logs.shape[2]))
        _learn_pool(logs, classes, worths, self.weights, self.curvature, found)
        return found


@compiled
def pool_logs(logs: Doubles, weights: Doubles, found: Doubles) -> None:
    """Write the probabilities of a pool with these weights."""
    add_up(weights, logs, found)
    soften(found, found)


@compiled
def add_up(weights: Doubles, rows: Doubles, found: Doubles) -> None:
    """Write the sum of the rows times their weights."""
    found[:] = 0.0
    for m in range(len(weights)):
        for k in range(len(found)):
            found[k] += weights[m] * rows[m, k]


@compiled
def _learn_pool(
    logs: Doubles,
    classes: Integers,
    worths: Doubles,
    weights: Doubles,
    curvature: Doubles,
    found: Doubles,
) -> None:
    """Do `LogPool.learn`."""
    for t in range(len(found)):
        pool_logs(logs[t], weights, found[t])
        if worths[t] > 0.0:
            step_pool(logs[t], found[t], classes[t], worths[t], weights, curvature)


@compiled
def step_pool(
    logs: Doubles,
    probabilities: Doubles,
    number: int,
    worth: float,
    weights: Doubles,
    curvature: Doubles,
) -> None:
    """Learn that the class called `number` came, which had these `probabilities`."""
    # Means and deviations of the logarithms under the pool's own probabilities.
    n, away, step = len(logs), np.empty_like(logs), np.empty(len(logs))
    for m in range(n):
        mean = 0.0
        for k in range(len(probabilities)):
            mean += probabilities[k] * logs[m, k]
        step[m] = worth * (logs[m, number] - mean)
        for k in range(len(probabilities)):
            away[m, k] = logs[m, k] - mean
    # Take their covariance into the curvature, which forgets towards the prior.
    for m in range(n):
        for other in range(m + 1):
            covariance = 0.0
            for k in range(len(probabilities)):
                covariance += probabilities[k] * (away[m, k] * away[other, k])
            prior = (1.0 - FORGETTING) * PRIOR if m == other else 0.0
            learned = FORGETTING * curvature[m, other] + worth * covariance + prior
            curvature[m, other] = curvature[other, m] = learned
    # A step of Newton's method.
    _solve(curvature.copy(), step)
    for m in range(n):
        weights[m] = min(max(weights[m] + step[m], -LARGEST_WEIGHT), LARGEST_WEIGHT)


@compiled(error_model="numpy")
def _solve(matrix: Doubles, values: Doubles) -> None:
    """Solve equations by elimination in place; the matrix is positive definite."""
    n = len(values)
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j, i] / matrix[i, i]
            values[j] -= factor * values[i]
            for k in range(i + 1, n):
                matrix[j, k] -= factor * matrix[i, k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            values[i] -= matrix[i, k] * values[k]
        values[i] /= matrix[i, i]
