"""Chances of three and more classes: what races and softmax regressions say, and their pool."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.log_pool import LogPool
from leaseboard.algorithms.chacha.safe.bayes import new_weights, update
from leaseboard.algorithms.online.live import Doubles, Floats
from leaseboard.algorithms.online.softmax import Integers, OnlineSoftmax
from leaseboard.algorithms.plain import fill, values_of

RATES = (0.1, 0.3)
"""Of the softmax regressions."""

N_POOLED = 1 + len(RATES)
N_EXPERTS = N_POOLED + 3
"""The races and the regressions, their pool, the classes' frequencies, and those after the class
before."""

LEAST = 1e-3
"""No expert but frequencies gives a class less than this, divided by the number of classes."""


class ClassMixture:
    """An average of experts by Bayes' rule (`leaseboard.algorithms.chacha.safe.bayes`).

    A race of each class against the rest knows what its own models found; a softmax regression
    weighs all classes at once, and is what one tries first; a logarithmic pool of them
    (`leaseboard.algorithms.chacha.log_pool`) is calibrated and mostly the best.

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
        said = [one.predict(example)[None] for one in self.regressions]
        logs = self._logs(own[None], said)
        counts = self.counts[None, [0, 1 + self.last]]
        experts = self._experts(logs, self.pool.chances(logs[0])[None], counts)
        return np.asarray(self.bayes[1:] @ experts[0])

    def learn(
        self, own: Doubles, examples: Floats, classes: Integers, importances: Floats
    ) -> Doubles:
        """Learn a block; its progressive `chances`.

        Parameters
        ----------
        own : ndarray of float64, shape (n, n_classes)
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
        """
        logs = self._logs(own, self.train(examples, classes, importances))
        counts, every = self.count(classes, importances), np.arange(len(classes))
        came = counts[every, 0, classes] > 0  # of a class that is new nothing was told
        worths = np.where(came, np.minimum(importances.astype(np.float64), 1.0), 0.0)
        experts = self._experts(logs, self.pool.learn(logs, classes, worths), counts)
        shown = experts[every, :, classes]
        for t in np.flatnonzero(worths < 1.0).tolist():
            shown[t] = shown[t] ** float(worths[t])
        told = np.empty_like(own)
        _weigh(experts, shown, worths, self.bayes, told)
        return told

    def train(self, examples: Floats, classes: Integers, importances: Floats) -> list[Doubles]:
        """Let the regressions alone learn; the progressive chances of each."""
        return [one.learn(examples, classes, importances) for one in self.regressions]

    def count(self, classes: Integers, importances: Floats) -> Doubles:
        """Let the frequencies alone learn; what they were of before each example.

        Returns
        -------
        ndarray of float64, shape (n, 2, n_classes)
            How often each class had come, at all and after the one that was then the last.
        """
        before = np.empty((len(classes), 2, self.n_classes))
        self.last = _count(classes, importances, self.last, self.counts, before)
        return before

    def _logs(self, own: Doubles, said: list[Doubles]) -> Doubles:
        """Logarithms of what is pooled, shape (n, N_POOLED, n_classes)."""
        chances = np.maximum(np.stack((own, *said), axis=1), LEAST / self.n_classes)
        return np.asarray(np.log(chances / chances.sum(axis=2, keepdims=True)))

    def _experts(self, logs: Doubles, pooled: Doubles, counts: Doubles) -> Doubles:
        """What each expert thinks of each class, shape (n, N_EXPERTS, n_classes)."""
        pooled, counts = np.maximum(pooled, LEAST / self.n_classes), counts + 0.5
        pooled = (pooled / pooled.sum(axis=1, keepdims=True))[:, None]
        frequencies = counts / counts.sum(axis=2, keepdims=True)
        return np.concatenate((np.exp(logs), pooled, frequencies), axis=1)

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


@njit(cache=True, nogil=True)
def _count(
    classes: Integers, importances: Floats, last: int, counts: Doubles, before: Doubles
) -> int:
    """See `ClassMixture.count`; returns the class that is now the last."""
    for t in range(len(classes)):
        number, importance = classes[t], np.float64(importances[t])
        before[t, 0], before[t, 1] = counts[0], counts[1 + last]
        counts[0, number] += importance
        if last >= 0:
            counts[1 + last, number] += importance
        last = number
    return last


@njit(cache=True, nogil=True)
def _weigh(
    experts: Doubles, shown: Doubles, worths: Doubles, bayes: Doubles, told: Doubles
) -> None:
    """Write the experts' average of each example, then weigh them by what they had `shown`."""
    for t in range(len(told)):
        told[t] = np.dot(bayes[1:], experts[t])
        if worths[t] > 0.0:
            update(shown[t], bayes)
