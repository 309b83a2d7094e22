"""Logistic regression that learns online and forgets: a step of the extended Kalman filter.

Weights have a covariance P. With inputs x, the chance p of the second class, c = p (1 - p) but no
less than `FLATTEST`, and λ = `FORGETTING`, a label y of 0 or 1 makes of them

    w + P x (y - p) / (1 + c xᵀPx)   and   D (P - c P x xᵀ P / (1 + c xᵀPx)) D / λ,

where D scales down each direction whose variance would be beyond `VARIANCE`: an input that says
nothing, or the same as another, does not keep the others from forgetting. P is computed as half a
matrix: rounding would make it asymmetric, and λ that larger and larger.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

FORGETTING = 0.999
"""What an example is worth one example later."""

VARIANCE = 0.1
"""Of each weight at first, and at most."""

FLATTEST = 0.02
"""The least curvature of an example: one that the weights were wrong about, and sure, must not
throw them far."""


@njit(cache=True, nogil=True)
def stack(
    inputs: Doubles,
    chance: float,
    second: bool,
    weights: Doubles,
    covariance: Doubles,
    importance: float = 1.0,
) -> None:
    """Learn one label.

    Parameters
    ----------
    inputs : ndarray of float64, shape (n,)
    chance : float
        Of the second class, by these weights.
    second : bool
        Whether it came.
    weights, covariance : ndarray of float64, shapes (n,) and (n, n)
        Updated.
    importance : float
        Learned as if seen so many times.

    Examples
    --------
    >>> weights, covariance = np.array([0.0]), np.array([[0.1]])
    >>> stack(np.array([1.0]), 0.5, True, weights, covariance)
    >>> weights.round(4).tolist()  # .1 / 1.025 * .5
    [0.0488]
    >>> covariance.round(4).tolist()  # .1 / 1.025 / .999
    [[0.0977]]
    """
    n, total = len(inputs), 0.0
    gain, scale = np.zeros(n), np.empty(n)
    for i in range(n):
        for j in range(n):
            gain[i] += covariance[i, j] * inputs[j]
        total += gain[i] * inputs[i]
    curvature = importance * max(chance * (1.0 - chance), FLATTEST)
    step = 1.0 / (1.0 + curvature * total)
    for i in range(n):
        weights[i] += step * gain[i] * importance * ((1.0 if second else 0.0) - chance)
        covariance[i, i] = (covariance[i, i] - curvature * step * gain[i] ** 2) / FORGETTING
        scale[i] = math.sqrt(VARIANCE / max(covariance[i, i], VARIANCE))
    for i in range(n):
        covariance[i, i] *= scale[i] ** 2
        for j in range(i):
            value = (covariance[i, j] - curvature * step * gain[i] * gain[j]) / FORGETTING
            covariance[i, j] = covariance[j, i] = value * scale[i] * scale[j]
