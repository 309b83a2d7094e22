"""Chances of three and more classes: those of races, of softmax regressions, and their pool."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.online.handles import Handle, handle_of, quick
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online_automl.log_pool import PRIOR, add_up, pool_logs, step_pool
from leaseboard.algorithms.online_automl.members.trees import soften
from leaseboard.algorithms.online_automl.safe.bayes import new_weights, scale, update
from leaseboard.algorithms.online_automl.safe.passes import matrix, vector
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.ridge import add_moments, standardise
from leaseboard.algorithms.transcendental import exp, log

Integers = NDArray[np.int64]


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
        _learn_softmax(
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
def _learn_softmax(
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
        _step_softmax(
            examples[t], classes[t], np.float64(importances[t]), rate, weights, squares, moments,
            seen, row, probabilities[t],
        )  # fmt: skip


@compiled(error_model="numpy")
def _step_softmax(
    example: Floats,
    number: int,
    importance: float,
    rate: float,
    weights: Doubles,
    squares: Doubles,
    moments: Doubles,
    seen: Doubles,
    row: Doubles,
    probabilities: Doubles,
) -> None:
    """Learn the example of `_probabilities`, whose class is `number`."""
    # A step of AdaGrad on each weight of each class.
    importance = min(importance, 1.0)
    for k in range(len(weights)):
        error = importance * (probabilities[k] - (1.0 if k == number else 0.0))
        for j in range(len(row)):
            gradient = error * row[j]
            squares[k, j] += gradient * gradient
            step = rate * gradient / math.sqrt(squares[k, j])
            weights[k, j] -= step if squares[k, j] > 0.0 else 0.0
    # Then the moments of the features, for the next example.
    seen[0] += 1.0
    add_moments(example, moments, seen[0])


RATES = (0.1, 0.3)
"""Of the softmax regressions."""

N_POOLED = 1 + len(RATES)
N_EXPERTS = N_POOLED + 3
"""The races and the regressions, their pool, the classes' frequencies, and those after the class
before."""

LEAST = 1e-3
"""No expert but frequencies gives a class less than this, divided by the number of classes."""


class ClassMixture(Saved):
    """An average of experts by Bayes' rule (`leaseboard.algorithms.online_automl.safe.bayes`).

    A race of each class against the rest knows what its own models found; a softmax regression
    weighs all classes at once, and is a naive baseline; a logarithmic pool of them (`step_pool`)
    is calibrated and mostly the best.

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

    kept: ClassVar[tuple[str, ...]] = (
        "last", "bayes", "counts", "regressions", "weights", "curvature",
    )  # fmt: skip

    def __init__(self, n_features: int) -> None:
        self.n_classes, self.last = 0, -1
        self.bayes = new_weights(N_EXPERTS)
        self.counts = np.zeros((1, 0))
        self.regressions = [OnlineSoftmax(n_features, 0, rate) for rate in RATES]
        self.weights, self.curvature = np.eye(N_POOLED)[0].copy(), PRIOR * np.eye(N_POOLED)
        self._handle: Handle | None = None

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more features, which were 0 until now, and more classes."""
        counts = np.zeros((1 + n_classes, n_classes))
        counts[: self.counts.shape[0], : self.counts.shape[1]] = self.counts
        self.n_classes, self.counts, self._handle = n_classes, counts, None
        for regression in self.regressions:
            regression.grow(n_features, n_classes)

    @property
    def handle(self) -> Handle:
        """Where the arrays of all experts are, the same ones until `grow`."""
        if self._handle is None:
            each = [(one.weights, one.squares, one.moments, one.seen) for one in self.regressions]
            own = self.weights, self.curvature, self.bayes, self.counts
            self._handle = handle_of(*(array for arrays in each for array in arrays), *own)
        return self._handle

    def probabilities(self, own: Doubles, example: Floats) -> Doubles:
        """Return the average; nothing is learned.

        Parameters
        ----------
        own : ndarray of float64, shape (n_classes,)
            The races' probabilities.
        example : ndarray of float32, shape (n_features,)
        """
        nothing = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.float32)
        found: Doubles = self._take(own[None], example[None], *nothing, learns=False)[0]
        return found

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
        return self._take(own, examples, classes, importances, learns=True)

    def _take(
        self,
        own: Doubles,
        examples: Floats,
        classes: Integers,
        importances: Floats,
        *,
        learns: bool,
    ) -> Doubles:
        found, given = np.empty(own.shape), (own, examples, classes, importances)
        self.last = pass_mixture(
            self.handle, *map(np.ascontiguousarray, given), self.last, learns, found
        )
        return found

    def train(self, examples: Floats, classes: Integers, importances: Floats) -> None:
        """Let the regressions alone learn."""
        for one in self.regressions:
            one.learn(examples, classes, importances)

    def count(self, classes: Integers, importances: Floats) -> None:
        """Let the frequencies alone learn."""
        for number, importance in zip(classes.tolist(), importances.tolist(), strict=True):
            self.count_one(number, importance)

    def count_one(self, number: int, importance: float) -> None:
        """Let the frequencies alone learn one class."""
        self.counts[0, number] += importance
        if self.last >= 0:
            self.counts[1 + self.last, number] += importance
        self.last = number


@quick
@compiled(error_model="numpy")
def pass_mixture(
    handle: Handle,
    own: Doubles,
    examples: Floats,
    classes: Integers,
    importances: Floats,
    last: int,
    learns: bool,
    found: Doubles,
) -> int:
    """Write the experts' average of each example; then, if it `learns`, learn its class.

    Parameters
    ----------
    handle : ndarray of int64
        Of a `ClassMixture`.
    own, found : ndarray of float64, shape (n, n_classes)
        The races' probabilities, and the average.
    examples : ndarray of float32, shape (n, n_features)
    classes : ndarray of int64, shape (n,)
    importances : ndarray of float32, shape (n,)
    last : int
        The class before the first of them.

    Returns
    -------
    int
        The class that is now the last.
    """
    k: Any = 4 * len(RATES)
    weights, curvature, bayes = vector(handle, k), matrix(handle, k + 1), vector(handle, k + 2)
    counts, n_classes = matrix(handle, k + 3), own.shape[1]
    rows, said = np.ones((len(RATES), 1 + examples.shape[1])), np.empty((len(RATES), n_classes))
    logs, experts = np.empty((N_POOLED, n_classes)), np.empty((N_EXPERTS, n_classes))
    pooled, shown = np.empty(n_classes), np.empty(N_EXPERTS)
    for t in range(len(found)):
        # What is pooled: the races and the regressions.
        experts[0] = own[t]
        for m in range(len(RATES)):
            _probabilities(
                examples[t], matrix(handle, 4 * m), matrix(handle, 4 * m + 2),
                vector(handle, 4 * m + 3)[0], rows[m], said[m],
            )  # fmt: skip
            experts[1 + m] = said[m]
        for m in range(N_POOLED):
            scale(experts[m], LEAST / n_classes)
            for j in range(n_classes):
                logs[m, j] = log(experts[m, j])
                experts[m, j] = exp(logs[m, j])
        # The pool, and the frequencies at all and after the last class.
        pool_logs(logs, weights, pooled)
        experts[N_POOLED] = pooled
        scale(experts[N_POOLED], LEAST / n_classes)
        for j in range(n_classes):
            experts[N_POOLED + 1, j] = counts[0, j] + 0.5
            experts[N_POOLED + 2, j] = counts[1 + last, j] + 0.5
        for m in range(N_POOLED + 1, N_EXPERTS):
            scale(experts[m], 0.0)
        add_up(bayes[1:], experts, found[t])
        if not learns:
            continue
        # The regressions and the pool learn; a class that is new had no chance before.
        number, importance = classes[t], np.float64(importances[t])
        for m in range(len(RATES)):
            _step_softmax(
                examples[t], number, importance, RATES[m], matrix(handle, 4 * m),
                matrix(handle, 4 * m + 1), matrix(handle, 4 * m + 2), vector(handle, 4 * m + 3),
                rows[m], said[m],
            )  # fmt: skip
        worth = min(importance, 1.0) if counts[0, number] > 0.0 else 0.0
        counts[0, number] += importance
        if last >= 0:
            counts[1 + last, number] += importance
        last = number
        if worth <= 0.0:
            continue
        step_pool(logs, pooled, number, worth, weights, curvature)
        # Weigh the experts by what they had said of the class that came.
        for m in range(N_EXPERTS):
            shown[m] = experts[m, number]
            if worth < 1.0:
                shown[m] = exp(worth * log(shown[m]))
        update(shown, bayes)
    return last
