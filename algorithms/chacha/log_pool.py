"""What several forecasters of classes say together: a logarithmic pool that learns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.plain import fill, values_of

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

FORGETTING = 0.999
"""What an example is worth one example later."""

PRIOR = 5.0
"""The curvature of each weight at first, and what it would go back to without examples."""


class LogPool:
    """Chances in proportion to Π_m p_m(k)^w_m, with weights w that learn online.

    A forecaster who is less sure than right has a weight above 1, one who repeats another none.
    Each label is a step of Newton's method on the log loss, whose gradient is the difference
    between the logarithms of the class that came and their mean, and whose curvature is their
    covariance, both under the pool's own chances; the curvature forgets. At first the pool is its
    first forecaster.

    Parameters
    ----------
    n_forecasters : int

    References
    ----------
    .. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.

    Examples
    --------
    >>> pool = LogPool(2)
    >>> chances = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    >>> pool.chances(np.log(chances)).round(2).tolist()
    [0.5, 0.3, 0.2]
    >>> _ = pool.learn(np.log([chances] * 20), np.full(20, 2), np.ones(20))
    >>> bool(pool.chances(np.log(chances))[2] > 0.7)
    True
    """

    kept: ClassVar[tuple[str, ...]] = ("weights", "curvature")

    def __init__(self, n_forecasters: int) -> None:
        self.weights = np.eye(n_forecasters)[0].copy()
        self.curvature = PRIOR * np.eye(n_forecasters)

    def chances(self, logs: Doubles) -> Doubles:
        """The pool's chances.

        Parameters
        ----------
        logs : ndarray of float64, shape (n_forecasters, n_classes)
            The logarithms of theirs.
        """
        exponents = self.weights @ logs
        chances = np.exp(exponents - exponents.max())
        return np.asarray(chances / chances.sum())

    def learn(self, logs: Doubles, classes: Integers, worths: Doubles) -> Doubles:
        """Take a block into the weights; its progressive chances, shape (n, n_classes).

        Parameters
        ----------
        logs : ndarray of float64, shape (n, n_forecasters, n_classes)
        classes : ndarray of int64, shape (n,)
            Those that came.
        worths : ndarray of float64, shape (n,)
            At most 1; an example that is worth 0 teaches nothing.
        """
        told = np.empty((len(logs), logs.shape[2]))
        for t, worth in enumerate(worths.tolist()):
            told[t] = self.chances(logs[t])
            if worth > 0.0:
                _learn(logs[t], told[t], classes[t], worth, self.weights, self.curvature)
        return told

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if no pool has it."""
        fill(self, state, self.kept)
        sound = np.isfinite(self.weights).all() and np.isfinite(self.curvature).all()
        if not sound or not (np.linalg.eigvalsh(self.curvature) > 0).all():
            raise ValueError(f"{self.curvature} is no curvature")


@njit(cache=True, nogil=True)
def _learn(
    logs: Doubles,
    chances: Doubles,
    number: int,
    worth: float,
    weights: Doubles,
    curvature: Doubles,
) -> None:
    """Take into the weights that the class called `number` came, which had these `chances`."""
    means = np.dot(logs, chances)
    away = logs - means.reshape(-1, 1)
    prior = (1.0 - FORGETTING) * PRIOR * np.eye(len(means))
    curvature[:] = FORGETTING * curvature + np.dot(worth * (away * chances), away.T) + prior
    step = np.linalg.solve(curvature, worth * (logs[:, number] - means))
    weights[:] = np.minimum(np.maximum(weights + step, -5.0), 5.0)
