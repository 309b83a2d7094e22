"""Ridge regression on random Fourier features: a kernel machine of bounded size.

`FEATURES` cosines cos(ω·z + φ) of the standardised example z, with random directions ω of three
lengths and random phases, approximate a mixture of Gaussian kernels [1]_. On them and a constant
the ridge regression on all examples before is exact after each one, by a recursion of the inverse

    P ← P - P x xᵀ P / (1 + xᵀ P x),    W ← W + P x (y - xᵀ W),

which is computed so that P stays symmetric. Numbers are learned less the first one. Classes are
the regression of their indicators; what it says is bounded from below by `LEAST` and scaled to 1.

References
----------
.. [1] Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms import seeds
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.transcendental import cos

FEATURES = 120

BANDWIDTHS = (0.5, 1.0, 2.0)
"""Of the kernels, in units of the length of a standardised example, √(number of columns)."""

LEAST = 1e-3


class FourierRidge(Saved):
    """Ridge regression on random cosines of an example.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        What directions and phases are drawn by.

    Examples
    --------
    >>> rows = np.random.RandomState(0).randn(2000, 1)
    >>> found = np.full((2000, 1), np.nan)
    >>> FourierRidge(1, 0).learn(rows, np.sin(rows[:, 0]), np.ones(2000, np.float32), found)
    >>> bool(np.abs(found[1000:, 0] - np.sin(rows[1000:, 0])).mean() < 0.05)
    True
    """

    kept: ClassVar[tuple[str, ...]] = ("inverse", "weights", "scale", "first", "seed")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.seed = n_features, n_classes, seed
        self.scale = np.array([math.sqrt(max(1, n_features))])
        self.first = np.zeros(2)
        self.inverse, self.cosines = np.eye(1 + FEATURES), np.ones(1 + FEATURES)
        self.weights = np.zeros((1 + FEATURES, n_classes or 1))
        self._draw()

    def _draw(self) -> None:
        # Each column has numbers of its own, so that one can join later.
        columns = [seeds.generator("Fourier", self.seed, j) for j in range(self.n_features)]
        lengths = np.repeat(BANDWIDTHS, FEATURES // len(BANDWIDTHS)) * self.scale[0]
        normal = np.array([each.standard_normal(FEATURES) for each in columns])
        self.directions = normal.reshape(self.n_features, FEATURES) / lengths
        self.phases = seeds.generator("Fourier phases", self.seed).uniform(
            0.0, 2.0 * math.pi, FEATURES
        )

    @property
    def operations(self) -> float:
        """Operations an example, of which a processor does several at a time."""
        return 0.28 * FEATURES**2 + 0.1 * FEATURES * (self.n_features + 40.0)

    def learn(self, rows: Doubles, targets: Doubles, worths: Floats, found: Doubles) -> None:
        """Learn a block of standardised rows; overwrite what it predicts. See `RandomTrees`."""
        learn_fourier(
            rows, targets, worths, self.n_classes > 0, self.directions, self.phases, self.first,
            self.inverse, self.weights, self.cosines, False, found,
        )  # fmt: skip

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes."""
        weights = np.zeros((1 + FEATURES, n_classes or 1))
        weights[:, : self.weights.shape[1]] = self.weights
        self.n_features, self.n_classes, self.weights = n_features, n_classes, weights
        self._draw()

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; nothing may be infinite or NaN."""
        super().fill(state)
        self._draw()


@compiled(error_model="numpy")
def learn_fourier(
    rows: Doubles,
    targets: Doubles,
    worths: Floats,
    classes: bool,
    directions: Doubles,
    phases: Doubles,
    first: Doubles,
    inverse: Doubles,
    weights: Doubles,
    x: Doubles,
    again: bool,
    found: Doubles,
) -> None:
    """Predict example after example, each before its label is used.

    Parameters
    ----------
    x : ndarray of float64
        Written: 1, and the cosines of the last example.
    again : bool
        The only example was the last one, so `x` is there.
    """
    n, k = len(inverse), weights.shape[1]
    gain, said = np.empty(n), np.empty(k)
    for t in range(len(rows)):
        worth, unknown = np.float64(worths[t]), first[1] == 0.0
        # Before the first label nothing is known, not even where 0 is.
        if unknown and worth > 0.0:
            first[0], first[1] = 0.0 if classes else targets[t], 1.0
        # What the regression on the constant and the cosines says of each output.
        if not again:
            write_cosines(rows[t], directions, phases, x[1:])
        said[:] = first[0]
        for i in range(n):
            for j in range(k):
                said[j] += x[i] * weights[i, j]
        if worth > 0.0:
            # Move the weights of each output along the gain, which is scaled by the step.
            step = shrink(x, worth, inverse, gain)
            for j in range(k):
                label = (1.0 if j == targets[t] else 0.0) if classes else targets[t]
                error = math.sqrt(step) * (label - said[j])
                for i in range(n):
                    weights[i, j] += error * gain[i]
        if not unknown:
            bound(said, classes, found[t])


@compiled(error_model="numpy")
def write_cosines(row: Doubles, directions: Doubles, phases: Doubles, x: Doubles) -> None:
    """Write cos(ω·z + φ) of all directions and phases."""
    for i in range(len(x)):  # an assignment of slices has an error whose format takes a second
        x[i] = phases[i]
    for j in range(len(row)):
        value, direction = row[j], directions[j]
        for i in range(len(x)):
            x[i] += value * direction[i]
    for i in range(len(x)):
        x[i] = cos(x[i])


@compiled(error_model="numpy")
def shrink(x: Doubles, worth: float, inverse: Doubles, gain: Doubles) -> float:
    """Take an example into P; write √s P x into `gain` and return s, the step of the weights."""
    n, variance = len(x), 0.0
    gain[:] = 0.0
    # The gain by rows of P, which is symmetric: four at a time, so that it is read less often.
    whole = n - n % 4
    for i in range(0, whole, 4):
        first, second, third, fourth = inverse[i], inverse[i + 1], inverse[i + 2], inverse[i + 3]
        for j in range(n):
            gain[j] = (
                gain[j] + x[i] * first[j] + x[i + 1] * second[j]
                + x[i + 2] * third[j] + x[i + 3] * fourth[j]
            )  # fmt: skip
    for i in range(whole, n):
        row, value = inverse[i], x[i]
        for j in range(n):
            gain[j] += value * row[j]
    for i in range(n):
        variance += x[i] * gain[i]
    step = worth / (1.0 + worth * variance)
    root = math.sqrt(step)
    for i in range(n):
        gain[i] *= root
    for i in range(n):
        row, value = inverse[i], gain[i]
        for j in range(n):
            row[j] -= value * gain[j]
    return step


@compiled(error_model="numpy")
def bound(said: Doubles, classes: bool, found: Doubles) -> None:
    """Write numbers unchanged, and of classes positive shares of 1."""
    total = 0.0
    for j in range(len(said)):
        found[j] = max(said[j], LEAST) if classes else said[j]
        total += found[j]
    for j in range(len(said)):
        found[j] /= total if classes else 1.0
