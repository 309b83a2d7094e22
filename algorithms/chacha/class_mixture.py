"""Chances of three and more classes: what races and softmax regressions say, and their pool."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.chacha.safe.bayes import new_weights, update
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import fill, values_of
from leaseboard.algorithms.reference.ridge import add_moments, standardise

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
        """Return the pool's chances.

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
                _step_pool(logs[t], told[t], classes[t], worth, self.weights, self.curvature)
        return told

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if no pool has it."""
        fill(self, state, self.kept)
        sound = np.isfinite(self.weights).all() and np.isfinite(self.curvature).all()
        if not sound or not (np.linalg.eigvalsh(self.curvature) > 0).all():
            raise ValueError(f"{self.curvature} is no curvature")


@njit(cache=True, nogil=True)
def _step_pool(
    logs: Doubles,
    chances: Doubles,
    number: int,
    worth: float,
    weights: Doubles,
    curvature: Doubles,
) -> None:
    """Take into the weights that the class called `number` came, which had these `chances`."""
    # Means and deviations of the logarithms under the pool's own chances.
    means = np.dot(logs, chances)
    away = logs - means.reshape(-1, 1)
    prior = (1.0 - FORGETTING) * PRIOR * np.eye(len(means))
    # Take their covariance into the curvature, which forgets towards the prior.
    curvature[:] = FORGETTING * curvature + np.dot(worth * (away * chances), away.T) + prior
    # A step of Newton's method.
    step = np.linalg.solve(curvature, worth * (logs[:, number] - means))
    weights[:] = np.minimum(np.maximum(weights + step, -5.0), 5.0)


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
        """Return the chances of the classes, shape (n_classes,); nothing is learned."""
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
        _step_softmax(
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
        """Return all that was learned, as plain values."""
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
    # Logits of the standardised features.
    standardise(example, moments, seen, row[1:])
    largest, total = -math.inf, 0.0
    for k in range(len(chances)):
        chances[k] = 0.0
        for j in range(len(row)):
            chances[k] += weights[k, j] * row[j]
        largest = max(largest, chances[k])
    # Their chances, scaled to 1.
    for k in range(len(chances)):
        chances[k] = math.exp(chances[k] - largest)
        total += chances[k]
    for k in range(len(chances)):
        chances[k] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def _step_softmax(
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
        # A step of AdaGrad on each weight of each class.
        importance = min(np.float64(importances[t]), 1.0)
        for k in range(len(weights)):
            error = importance * (chances[t, k] - (1.0 if k == classes[t] else 0.0))
            for j in range(len(row)):
                gradient = error * row[j]
                squares[k, j] += gradient * gradient
                step = rate * gradient / math.sqrt(squares[k, j])
                weights[k, j] -= step if squares[k, j] > 0.0 else 0.0
        # Then the moments of the features, for the next example.
        seen[0] += 1.0
        add_moments(examples[t], moments, seen[0])


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
    (`leaseboard.algorithms.chacha.class_mixture`) is calibrated and mostly the best.

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
        """Return the average; nothing is learned.

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
        """Return what each expert thinks of each class, shape (n, N_EXPERTS, n_classes)."""
        pooled, counts = np.maximum(pooled, LEAST / self.n_classes), counts + 0.5
        pooled = (pooled / pooled.sum(axis=1, keepdims=True))[:, None]
        frequencies = counts / counts.sum(axis=2, keepdims=True)
        return np.concatenate((np.exp(logs), pooled, frequencies), axis=1)

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as plain values."""
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
        # What was known before, then the class itself.
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
