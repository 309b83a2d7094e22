"""What several forecasters of classes say together: a logarithmic pool that learns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.plain import fill, values_of

Doubles = NDArray[np.float64]

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
    >>> for _ in range(20):
    ...     pool.learn(np.log(chances), 2, 1.0)
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

    def learn(self, logs: Doubles, number: int, importance: float) -> None:
        """Take into the weights that the class called `number` came."""
        chances = self.chances(logs)
        means = logs @ chances
        away = logs - means[:, None]
        prior = (1.0 - FORGETTING) * PRIOR * np.eye(len(means))
        worth = min(importance, 1.0)
        self.curvature = FORGETTING * self.curvature + worth * (away * chances) @ away.T + prior
        step = np.linalg.solve(self.curvature, worth * (logs[:, number] - means))
        self.weights = np.clip(self.weights + step, -5.0, 5.0)

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if no pool has it."""
        fill(self, state, self.kept)
        sound = np.isfinite(self.weights).all() and np.isfinite(self.curvature).all()
        if not sound or not (np.linalg.eigvalsh(self.curvature) > 0).all():
            raise ValueError(f"{self.curvature} is no curvature")
