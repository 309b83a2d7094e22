"""Chances of three and more classes: what races and softmax regressions say, and their pool."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.log_pool import LogPool
from algorithms.chacha.safe.bayes import new_weights, update
from algorithms.online.live import Doubles, Floats
from algorithms.online.softmax import OnlineSoftmax
from algorithms.plain import fill, values_of

RATES = (0.1, 0.3)
"""Of the softmax regressions."""

N_POOLED = 1 + len(RATES)
N_EXPERTS = N_POOLED + 3
"""The races and the regressions, their pool, the classes' frequencies, and those after the class
before."""

LEAST = 1e-3
"""No expert but frequencies gives a class less than this, divided by the number of classes."""


class ClassMixture:
    """An average of experts by Bayes' rule (`algorithms.chacha.safe.bayes`).

    A race of each class against the rest knows what its own models found; a softmax regression
    weighs all classes at once, and is what one tries first; a logarithmic pool of them
    (`algorithms.chacha.log_pool`) is calibrated and mostly the best.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    n_classes : int
    last : int
        The class that came last; -1 before there is one.
    counts : ndarray of float64, shape (1 + n_classes, n_classes)
        How often each class came, at all and after each other.
    """

    kept: ClassVar[tuple[str, ...]] = ("last", "bayes")

    def __init__(self, n_features: int) -> None:
        self.n_classes, self.last = 0, -1
        self.bayes = new_weights(N_EXPERTS)
        self.counts = np.zeros((1, 0))
        self.regressions = [OnlineSoftmax(n_features, 0, rate) for rate in RATES]
        self.pool = LogPool(N_POOLED)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        counts = np.zeros((1 + n_classes, n_classes))
        counts[: self.counts.shape[0], : self.counts.shape[1]] = self.counts
        self.n_classes, self.counts = n_classes, counts
        for regression in self.regressions:
            regression.grow(n_features, n_classes)

    def chances(self, own: Doubles, example: Floats) -> Doubles:
        """The average; nothing is learned.

        Parameters
        ----------
        own : ndarray of float64, shape (n_classes,)
            The races' chances.
        example : ndarray of float32, shape (n_features,)
        """
        return np.asarray(self.bayes[1:] @ self._experts(self._logs(own, example)))

    def learn(self, own: Doubles, example: Floats, number: int, importance: float) -> Doubles:
        """`chances`, and then the class that came is learned."""
        logs = self._logs(own, example)
        experts = self._experts(logs)
        told = self.bayes[1:] @ experts
        if self.counts[0, number]:  # of a class that is new nothing was told
            update(experts[:, number] ** min(importance, 1.0), self.bayes)
            self.pool.learn(logs, number, importance)
        self.train(example, number, importance)
        self.count(number, importance)
        return np.asarray(told)

    def train(self, example: Floats, number: int, importance: float) -> None:
        """Let the regressions alone learn."""
        for regression in self.regressions:
            regression.learn(example, number, importance)

    def count(self, number: int, importance: float) -> None:
        """Let the frequencies alone learn."""
        self.counts[0, number] += importance
        if self.last >= 0:
            self.counts[1 + self.last, number] += importance
        self.last = number

    def _logs(self, own: Doubles, example: Floats) -> Doubles:
        """Logarithms of what is pooled, shape (N_POOLED, n_classes)."""
        chances = np.vstack((own, *(one.predict(example) for one in self.regressions)))
        chances = np.maximum(chances, LEAST / self.n_classes)
        return np.asarray(np.log(chances / chances.sum(axis=1, keepdims=True)))

    def _experts(self, logs: Doubles) -> Doubles:
        """What each expert thinks of each class, shape (N_EXPERTS, n_classes)."""
        pooled = np.maximum(self.pool.chances(logs), LEAST / self.n_classes)
        counts = self.counts[[0, 1 + self.last]] + 0.5
        frequencies = counts / counts.sum(axis=1, keepdims=True)
        return np.vstack((np.exp(logs), pooled / pooled.sum(), frequencies))

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return values_of(self, self.kept) | {
            "counts": self.counts,
            "regressions": [one.state() for one in self.regressions],
            "pool": self.pool.state(),
        }

    def fill(self, state: Any) -> None:
        """Go on from `state`, with as many classes; ValueError if none has it."""
        fill(self, state, (*self.kept, "counts"))
        for one, its in zip(self.regressions, state["regressions"], strict=True):
            one.fill(its)
        self.pool.fill(state["pool"])
        weights: NDArray[np.float64] = self.bayes[1:]
        if not (self.bayes[0] >= 0 and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6):
            raise ValueError(f"{self.bayes} are no weights")
        if not (-1 <= self.last < self.n_classes and (self.counts >= 0).all()):
            raise ValueError(f"{self.last} is none of {self.n_classes} classes")
