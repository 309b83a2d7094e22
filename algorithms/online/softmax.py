"""Softmax regression on a stream: features standardised online, steps by AdaGrad."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.sealed import uniform
from leaseboard.algorithms.plain import fill, values_of
from leaseboard.algorithms.reference.ridge import add_moments, standardise

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


class OnlineSoftmax:
    """Multinomial logistic regression [1]_ that learns each example once, by AdaGrad [2]_.

    Features are standardised by the mean and deviation of the rows before and clipped at ±10
    (`leaseboard.algorithms.reference.ridge.standardise`), so their scales do not matter.

    Parameters
    ----------
    n_features, n_classes : int
    rate : float
        A weight's first step, in units of its logit.

    Attributes
    ----------
    weights, squares : ndarray of float64, shape (n_classes, 1 + n_features)
        The constant's first; and the sums of the squares of their gradients.
    moments : ndarray of float64, shape (2, n_features)
        Of the features.
    seen : ndarray of float64, shape (1,)
        Examples learned.

    References
    ----------
    .. [1] Bishop. Pattern recognition and machine learning. 2006, section 4.3.4.
    .. [2] Duchi, Hazan, Singer. Adaptive subgradient methods. JMLR 12, 2011.

    Examples
    --------
    >>> model = OnlineSoftmax(n_features=1, n_classes=3, rate=0.3)
    >>> numbers = np.arange(300) % 3
    >>> chances = model.learn(np.float32(numbers)[:, None], numbers, np.ones(300, np.float32))
    >>> model.predict(np.array([2], np.float32)).argmax()
    np.int64(2)
    """

    kept: ClassVar[tuple[str, ...]] = ("weights", "squares", "moments", "seen")

    def __init__(self, n_features: int, n_classes: int, rate: float) -> None:
        self.rate = rate
        self.weights, self.squares = np.zeros((2, n_classes, 1 + n_features))
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)

    def predict(self, example: Floats) -> Doubles:
        """The chances of the classes, shape (n_classes,); nothing is learned."""
        row = np.ones(self.weights.shape[1])
        chances = np.empty(len(self.weights))
        _chances(uniform(example), self.weights, self.moments, self.seen[0], row, chances)
        return chances

    def learn(self, examples: Floats, classes: Integers, importances: Floats) -> Doubles:
        """Learn a block; the progressive chances of the classes, shape (n, n_classes).

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
            What gradients are multiplied by; at most 1 counts.
        """
        chances = np.empty((len(classes), len(self.weights)))
        _learn(
            uniform(examples), classes, uniform(importances), self.rate, self.weights,
            self.squares, self.moments, self.seen, chances,
        )  # fmt: skip
        return chances

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        grown = OnlineSoftmax(n_features, n_classes, self.rate)
        for name in ("weights", "squares", "moments"):
            old = getattr(self, name)
            getattr(grown, name)[tuple(map(slice, old.shape))] = old
        self.weights, self.squares, self.moments = grown.weights, grown.squares, grown.moments

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if it is of another size or not finite."""
        fill(self, state, self.kept)
        if not all(np.isfinite(getattr(self, name)).all() for name in self.kept):
            raise ValueError("a weight is not finite")


@njit(cache=True, nogil=True)
def _chances(
    example: Floats,
    weights: Doubles,
    moments: Doubles,
    seen: float,
    row: Doubles,
    chances: Doubles,
) -> None:
    """Write the standardised row, after its constant, and the chances."""
    standardise(example, moments, seen, row[1:])
    largest, total = -math.inf, 0.0
    for k in range(len(chances)):
        chances[k] = 0.0
        for j in range(len(row)):
            chances[k] += weights[k, j] * row[j]
        largest = max(largest, chances[k])
    for k in range(len(chances)):
        chances[k] = math.exp(chances[k] - largest)
        total += chances[k]
    for k in range(len(chances)):
        chances[k] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def _learn(
    examples: Floats,
    classes: Integers,
    importances: Floats,
    rate: float,
    weights: Doubles,
    squares: Doubles,
    moments: Doubles,
    seen: Doubles,
    chances: Doubles,
) -> None:
    row = np.ones(weights.shape[1])
    for t in range(len(classes)):
        _chances(examples[t], weights, moments, seen[0], row, chances[t])
        importance = min(np.float64(importances[t]), 1.0)
        for k in range(len(weights)):
            error = importance * (chances[t, k] - (1.0 if k == classes[t] else 0.0))
            for j in range(len(row)):
                gradient = error * row[j]
                squares[k, j] += gradient * gradient
                step = rate * gradient / math.sqrt(squares[k, j])
                weights[k, j] -= step if squares[k, j] > 0.0 else 0.0
        seen[0] += 1.0
        add_moments(examples[t], moments, seen[0])
