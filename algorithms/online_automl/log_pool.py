"""Logarithmic pool of probabilities: their product, each to a power that is learned.

Chances are in proportion to Π_m p_m(k)^w_m, with weights w that learn online [1]_. A predictor
that is less sure than right has a weight above 1, one that repeats another none. Each label is a
step of Newton's method on the log loss, whose gradient is the difference between the logarithms of
the class that came and their mean, and whose curvature is their covariance, both under the pool's
own probabilities; the curvature forgets. At first the pool is its first predictor.

References
----------
.. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.
"""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles
from leaseboard.algorithms.online_automl.members.trees import soften

FORGETTING = 0.999
"""What an example is worth one example later."""

PRIOR = 5.0
"""The curvature of each weight at first, and what it would go back to without examples."""

LARGEST_WEIGHT = 5.0
"""Bound of the weights, on both sides of 0."""


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
