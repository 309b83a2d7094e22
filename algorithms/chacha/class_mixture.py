"""Chances of three and more classes: those of races, of softmax regressions, and their pool."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.members.trees import soften
from leaseboard.algorithms.chacha.safe.bayes import new_weights, update
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.ridge import add_moments, standardise

Integers = NDArray[np.int64]

FORGETTING = 0.999
"""What an example is worth one example later."""

PRIOR = 5.0
"""The curvature of each weight at first, and what it would go back to without examples."""

LARGEST_WEIGHT = 5.0
"""Bound of the weights of a pool, on both sides of 0."""


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
    >>> pool.probabilities(np.log(probabilities)).round(2).tolist()
    [0.5, 0.3, 0.2]
    >>> _ = pool.learn(np.log([probabilities] * 20), np.full(20, 2), np.ones(20))
    >>> bool(pool.probabilities(np.log(probabilities))[2] > 0.7)
    True
    """

    kept: ClassVar[tuple[str, ...]] = ("weights", "curvature")

    def __init__(self, n_predictors: int) -> None:
        self.weights = np.eye(n_predictors)[0].copy()
        self.curvature = PRIOR * np.eye(n_predictors)

    def probabilities(self, logs: Doubles) -> Doubles:
        """Return the pool's probabilities.

        Parameters
        ----------
        logs : ndarray of float64, shape (n_predictors, n_classes)
            The logarithms of theirs.
        """
        exponents = self.weights @ logs
        # As `max` and `sum`, in half their time.
        probabilities = np.exp(exponents - np.maximum.reduce(exponents))
        return np.asarray(probabilities / np.add.reduce(probabilities))

    def learn(self, logs: Doubles, classes: Integers, worths: Doubles) -> Doubles:
        """Learn a block; return its progressive probabilities, shape (n, n_classes).

        Parameters
        ----------
        logs : ndarray of float64, shape (n, n_predictors, n_classes)
        classes : ndarray of int64, shape (n,)
            Those that came.
        worths : ndarray of float64, shape (n,)
            At most 1; an example that is worth 0 teaches nothing.
        """
        found = np.empty((len(logs), logs.shape[2]))
        for t, worth in enumerate(worths.tolist()):
            found[t] = self.probabilities(logs[t])
            if worth > 0.0:
                _step_pool(logs[t], found[t], classes[t], worth, self.weights, self.curvature)
        return found

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        sound = np.isfinite(self.weights).all() and np.isfinite(self.curvature).all()
        if not sound or not (np.linalg.eigvalsh(self.curvature) > 0).all():
            raise ValueError(f"{self.curvature} is not a curvature")


@quick
@compiled
def _step_pool(
    logs: Doubles,
    probabilities: Doubles,
    number: int,
    worth: float,
    weights: Doubles,
    curvature: Doubles,
) -> None:
    """Learn that the class called `number` came, which had these `probabilities`."""
    # Means and deviations of the logarithms under the pool's own probabilities.
    means = np.dot(logs, probabilities)
    away = logs - means.reshape(-1, 1)
    prior = (1.0 - FORGETTING) * PRIOR * np.eye(len(means))
    # Take their covariance into the curvature, which forgets towards the prior.
    curvature[:] = FORGETTING * curvature + np.dot(worth * (away * probabilities), away.T) + prior
    # A step of Newton's method.
    step = np.linalg.solve(curvature, worth * (logs[:, number] - means))
    weights[:] = np.minimum(np.maximum(weights + step, -LARGEST_WEIGHT), LARGEST_WEIGHT)


class OnlineSoftmax(Saved):
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
    >>> found = model.learn(np.float32(numbers)[:, None], numbers, np.ones(300, np.float32))
    >>> model.predict(np.array([2], np.float32)).argmax()
    np.int64(2)
    """

    kept: ClassVar[tuple[str, ...]] = ("weights", "squares", "moments", "seen")

    def __init__(self, n_features: int, n_classes: int, rate: float) -> None:
        self.rate = rate
        self.weights, self.squares = np.zeros((2, n_classes, 1 + n_features))
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)

    def predict(self, example: Floats) -> Doubles:
        """Return the probabilities of the classes, shape (n_classes,); nothing is learned."""
        row = np.ones(self.weights.shape[1])
        probabilities = np.empty(len(self.weights))
        _probabilities(
            uniform(example), self.weights, self.moments, self.seen[0], row, probabilities
        )
        return probabilities

    def learn(self, examples: Floats, classes: Integers, importances: Floats) -> Doubles:
        """Learn a block; return progressive probabilities, shape (n, n_classes).

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
            What gradients are multiplied by; at most 1 counts.
        """
        probabilities = np.empty((len(classes), len(self.weights)))
        _step_softmax(
            uniform(examples), classes, uniform(importances), self.rate, self.weights,
            self.squares, self.moments, self.seen, probabilities,
        )  # fmt: skip
        return probabilities

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        grown = OnlineSoftmax(n_features, n_classes, self.rate)
        for name in ("weights", "squares", "moments"):
            old = getattr(self, name)
            getattr(grown, name)[tuple(map(slice, old.shape))] = old
        self.weights, self.squares, self.moments = grown.weights, grown.squares, grown.moments

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; nothing may be infinite or NaN."""
        super().fill(state)
        if not all(np.isfinite(getattr(self, name)).all() for name in self.kept):
            raise ValueError("a weight is not finite")


@compiled
def _probabilities(
    example: Floats,
    weights: Doubles,
    moments: Doubles,
    seen: float,
    row: Doubles,
    probabilities: Doubles,
) -> None:
    """Write the standardised row, after its constant, and the probabilities."""
    # Logits of the standardised features.
    standardise(example, moments, seen, row[1:])
    for k in range(len(probabilities)):
        probabilities[k] = 0.0
        for j in range(len(row)):
            probabilities[k] += weights[k, j] * row[j]
    soften(probabilities, probabilities)


@compiled(error_model="numpy")
def _step_softmax(
    examples: Floats,
    classes: Integers,
    importances: Floats,
    rate: float,
    weights: Doubles,
    squares: Doubles,
    moments: Doubles,
    seen: Doubles,
    probabilities: Doubles,
) -> None:
    """Learn a block; write its progressive probabilities."""
    row = np.ones(weights.shape[1])
    for t in range(len(classes)):
        _probabilities(examples[t], weights, moments, seen[0], row, probabilities[t])
        # A step of AdaGrad on each weight of each class.
        importance = min(np.float64(importances[t]), 1.0)
        for k in range(len(weights)):
            error = importance * (probabilities[t, k] - (1.0 if k == classes[t] else 0.0))
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


class ClassMixture(Saved):
    """An average of experts by Bayes' rule (`leaseboard.algorithms.chacha.safe.bayes`).

    A race of each class against the rest knows what its own models found; a softmax regression
    weighs all classes at once, and is a naive baseline; a logarithmic pool of them (`LogPool`) is
    calibrated and mostly the best.

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

    kept: ClassVar[tuple[str, ...]] = ("last", "bayes", "counts", "regressions", "pool")

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

    def probabilities(self, own: Doubles, example: Floats) -> Doubles:
        """Return the average; nothing is learned.

        Parameters
        ----------
        own : ndarray of float64, shape (n_classes,)
            The races' probabilities.
        example : ndarray of float32, shape (n_features,)
        """
        said = [one.predict(example)[None] for one in self.regressions]
        logs = self._logs(own[None], said)
        counts = self.counts[None, [0, 1 + self.last]]
        experts = self._experts(logs, self.pool.probabilities(logs[0])[None], counts)
        return np.asarray(self.bayes[1:] @ experts[0])

    def learn(
        self, own: Doubles, examples: Floats, classes: Integers, importances: Floats
    ) -> Doubles:
        """Learn a block; return its progressive `probabilities`.

        Parameters
        ----------
        own : ndarray of float64, shape (n, n_classes)
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of int64, shape (n,)
        importances : ndarray of float32, shape (n,)
        """
        logs = self._logs(own, self.train(examples, classes, importances))
        counts, every = self.count(classes, importances), np.arange(len(classes))
        came = counts[every, 0, classes] > 0  # a new class had no chance before
        worths = np.where(came, np.minimum(importances.astype(np.float64), 1.0), 0.0)
        experts = self._experts(logs, self.pool.learn(logs, classes, worths), counts)
        shown = experts[every, :, classes]
        for t in np.flatnonzero(worths < 1.0).tolist():
            shown[t] = shown[t] ** float(worths[t])
        found = np.empty_like(own)
        _weigh(experts, shown, worths, self.bayes, found)
        return found

    def train(self, examples: Floats, classes: Integers, importances: Floats) -> list[Doubles]:
        """Let the regressions alone learn; return the progressive probabilities of each."""
        return [one.learn(examples, classes, importances) for one in self.regressions]

    def count(self, classes: Integers, importances: Floats) -> Doubles:
        """Let the frequencies alone learn; return what they were of before each example.

        Returns
        -------
        ndarray of float64, shape (n, 2, n_classes)
            How often each class had come, at all and after the one that was then the last.
        """
        before = np.empty((len(classes), 2, self.n_classes))
        self.last = _count(classes, importances, self.last, self.counts, before)
        return before

    def count_one(self, number: int, importance: float) -> None:
        """Let the frequencies alone learn one class."""
        self.counts[0, number] += importance
        if self.last >= 0:
            self.counts[1 + self.last, number] += importance
        self.last = number

    def _logs(self, own: Doubles, said: list[Doubles]) -> Doubles:
        """Return the logarithms of what is pooled, shape (n, N_POOLED, n_classes)."""
        probabilities = np.maximum(np.stack((own, *said), axis=1), LEAST / self.n_classes)
        return np.asarray(np.log(probabilities / probabilities.sum(axis=2, keepdims=True)))

    def _experts(self, logs: Doubles, pooled: Doubles, counts: Doubles) -> Doubles:
        """Return each expert's probability of each class, shape (n, N_EXPERTS, n_classes)."""
        pooled, counts = np.maximum(pooled, LEAST / self.n_classes), counts + 0.5
        pooled = (pooled / pooled.sum(axis=1, keepdims=True))[:, None]
        frequencies = counts / counts.sum(axis=2, keepdims=True)
        return np.concatenate((np.exp(logs), pooled, frequencies), axis=1)

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; of as many classes."""
        super().fill(state)
        weights = self.bayes[1:]
        if not (self.bayes[0] >= 0 and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6):
            raise ValueError(f"{self.bayes} are not weights")
        if not (-1 <= self.last < self.n_classes and (self.counts >= 0).all()):
            raise ValueError(f"{self.last} is not one of {self.n_classes} classes")


@compiled
def _count(
    classes: Integers, importances: Floats, last: int, counts: Doubles, before: Doubles
) -> int:
    """Write what `ClassMixture.count` returns; return the class that is now the last."""
    for t in range(len(classes)):
        number, importance = classes[t], np.float64(importances[t])
        # What was known before, then the class itself.
        before[t, 0], before[t, 1] = counts[0], counts[1 + last]
        counts[0, number] += importance
        if last >= 0:
            counts[1 + last, number] += importance
        last = number
    return last


@compiled
def _weigh(
    experts: Doubles, shown: Doubles, worths: Doubles, bayes: Doubles, found: Doubles
) -> None:
    """Write the experts' average of each example, then weigh them by what they had `shown`."""
    for t in range(len(found)):
        # Average by what was known before.
        found[t] = np.dot(bayes[1:], experts[t])
        if worths[t] > 0.0:
            update(shown[t], bayes)
