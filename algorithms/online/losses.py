"""The losses of the kernel: what Vowpal Wabbit's update takes of a loss function, bit for bit.

Squared loss is VW's default. Logistic loss is for labels -1 and 1; its predictions are log odds.
As VW does, all is float32 but for the Lambert function, which VW approximates in double.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

SQUARED, LOGISTIC = 0, 1
"""The losses as the kernel names them."""

OPTIONS = {SQUARED: (), LOGISTIC: ("--loss_function", "logistic")}
"""What names a loss on VW's command line."""

RANGE = {SQUARED: (0.0, 0.0), LOGISTIC: (-50.0, 50.0)}
"""What VW clips predictions to before it has seen a label."""

_ZERO = np.float32(0)
_ONE = np.float32(1)
_TWO = np.float32(2)
_FOUR = np.float32(4)


@njit(cache=True, nogil=True, error_model="numpy")
def gradient_squared(loss: int, prediction: np.float32, label: np.float32) -> np.float32:
    """The square of the loss's derivative; 0 where VW computes a loss of 0, and so no update."""
    if loss == SQUARED:
        error = prediction - label
        if error * error <= _ZERO:
            return _ZERO
        return _FOUR * error * error
    odds = np.float32(math.exp(-label * prediction))
    if _ONE + odds <= _ONE:
        return _ZERO
    derivative = -label / (_ONE + np.float32(math.exp(label * prediction)))
    return derivative * derivative


@njit(cache=True, nogil=True, error_model="numpy")
def invariant_update(
    loss: int,
    prediction: np.float32,
    label: np.float32,
    scale: np.float32,
    per_update: np.float32,
) -> np.float32:
    """The importance-invariant step (Karampatziakis and Langford 2011, table 1).

    Parameters
    ----------
    loss : int
    prediction, label : float32
    scale : float32
        Learning rate times importance.
    per_update : float32
        How much the prediction moves for an update of 1.
    """
    small = scale * per_update < 1e-6  # there VW takes the first term of the series
    if loss == SQUARED:
        if small:
            return _TWO * (label - prediction) * scale
        decay = _ONE - np.float32(math.exp(-_TWO * scale * per_update))
        return (label - prediction) * decay / per_update
    against = np.float32(math.exp(label * prediction))
    if small:
        return label * scale / (_ONE + against)
    moved = lambert_less(scale * per_update + label * prediction + against)
    return -(label * moved + prediction) / per_update


@njit(cache=True, nogil=True, error_model="numpy")
def lambert_less(x: np.float32) -> np.float32:
    """``W(exp(x)) - x`` with W the Lambert function, as VW approximates it: one step from a guess.

    Examples
    --------
    >>> round(float(lambert_less(np.float32(0))), 3)
    0.567
    """
    x64 = float(x)
    if x64 >= 1.0:
        w = 0.86 * x64 + 0.01
        residual = x64 - math.log(w) - w
    else:
        w = math.exp(0.8 * x64 - 0.65)
        residual = 0.2 * x64 + 0.65 - w
    t = 1.0 + w
    u = 2.0 * t * (t + 2.0 * residual / 3.0)
    step = residual / t * (u - residual) / (u - 2.0 * residual)
    return np.float32(w * (1.0 + step) - x64)
