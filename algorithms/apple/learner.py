"""A linear model over monomials: weights, learning and predicting, whatever the kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.monomials import variable_keys
from leaseboard.algorithms.apple.update import EMITTED, EXAMPLES, HIGH, LOW, NONZEROS, UNSEEN
from leaseboard.algorithms.benches.holdout import Floats, Rows
from leaseboard.algorithms.benches.sealed import uniform
from leaseboard.algorithms.errors import DivergedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How a learner updates its weights and how large it may grow.

    Attributes
    ----------
    learning_rate : float
        η of VW's update.
    update : {"adaptive", "sgd"}
        VW's adaptive, normalized, invariant update, or plain SGD with Theorem 1's step size.
    regularization : float
        λ of Theorem 1; used by ``sgd`` alone.
    bits : int
        Monomials of degree two and more share a table of 2^bits slots.
    moments : bool
        Keep the sums of the SSM heuristic.
    """

    learning_rate: float = 0.5
    update: Literal["adaptive", "sgd"] = "adaptive"
    regularization: float = 1e-3
    bits: int = 18
    moments: bool = False


class MonomialLearner(ABC):
    """A linear model over monomials, which live in slots.

    Slots 0 to d - 1 hold the base variables, slot d the constant, the rest monomials of higher
    degree. All columns are scaled by powers of two to at most 1 in magnitude. VW's update is
    indifferent to that, and products of any degree then stay within float32.

    Attributes
    ----------
    w, g, inverse : ndarray of float32, shape (n_slots,)
        ω, γ and 1 / N, see `leaseboard.algorithms.apple.update`. Under SGD `w` is t times the
        weight.
    totals : ndarray of float64, shape (8,)
    """

    w: Floats
    g: Floats
    inverse: Floats

    def __init__(self, n_variables: int, learning: Learning) -> None:
        self.n_variables = n_variables
        self.learning = learning
        self.variable_keys = variable_keys(n_variables)
        self.magnitude = np.zeros(n_variables)
        self.totals = np.zeros(8)

    def learn(self, rows: Rows, labels: Floats, weights: Floats | None = None) -> Floats:
        """Predict each example and then learn it (lines 3 and 4); returns the predictions.

        Parameters
        ----------
        rows, labels
        weights : ndarray of float32, shape (n_examples,), optional
            Above 0: how many examples each stands for; 1 by default.
        """
        self._rescale(np.maximum(self.magnitude, largest_magnitudes(rows)))
        out = np.empty(len(labels), dtype=np.float32)
        weights = np.ones(len(labels), dtype=np.float32) if weights is None else weights
        bad = self._learn(rows, uniform(labels), uniform(weights), out)
        if bad >= 0:
            raise DivergedError(
                f"the prediction of training example {bad} is not finite at learning rate"
                f" {self.learning.learning_rate}: lower it"
            )
        return out

    def predict(self, rows: Rows) -> Floats:
        """Predictions without learning, clamped to the labels' range under VW's update."""
        return self._predicted(rows, *self.label_range)

    def margins(self, rows: Rows) -> Floats:
        """Predictions without learning that are not clamped: linear in the weights."""
        return self._predicted(rows, -np.inf, np.inf)

    def _predicted(self, rows: Rows, low: float, high: float) -> Floats:
        out = np.empty(rows.shape[0], dtype=np.float32)
        fixed = 1 / (self.totals[EXAMPLES] + 1.0) if self.sgd else 0.0
        self._predict(rows, fixed, low, high, out)
        return out

    @property
    def label_range(self) -> tuple[float, float]:
        """What predictions are clamped to; SGD's are not."""
        return (-np.inf, np.inf) if self.sgd else (self.totals[LOW], self.totals[HIGH])

    @property
    def magnitude(self) -> NDArray[np.float64]:
        """The largest magnitude of each column; to be set, for the scale follows it."""
        return self._magnitude

    @magnitude.setter
    def magnitude(self, magnitude: NDArray[np.float64]) -> None:
        self._magnitude = magnitude.view()
        self._magnitude.setflags(write=False)
        # Powers of two that bring the columns to at most 1; SGD is not scale-free, so ones.
        self._scale = np.ones(self.n_variables) if self.sgd else powers_of_two(magnitude)

    @property
    def sgd(self) -> bool:
        """Whether the update is plain SGD."""
        return self.learning.update == "sgd"

    @property
    @abstractmethod
    def size(self) -> int:
        """How many monomials there are, the constant not counted."""

    @property
    @abstractmethod
    def max_degree(self) -> int:
        """The highest degree of a monomial."""

    @property
    def mean_nonzeros(self) -> float:
        """s: the average number of non-zero base features, the constant counted."""
        return float(self.totals[NONZEROS] / max(self.totals[EXAMPLES], 1.0))

    @property
    def features_per_example(self) -> float:
        """The average number of non-zero monomials that an example was expanded to."""
        return float(self.totals[EMITTED] / max(self.totals[EXAMPLES], 1.0))

    @abstractmethod
    def _learn(self, rows: Rows, labels: Floats, weights: Floats, out: Floats) -> int:
        """Run the kernel; the index of the first example that diverged, or -1."""

    @abstractmethod
    def _predict(self, rows: Rows, fixed: float, low: float, high: float, out: Floats) -> None:
        """Run the kernel; `fixed` stands for 1 / N under SGD and is 0 otherwise."""

    @property
    def _rate(self) -> float:
        """What the kernels take: η, or λ under SGD."""
        return float(self.learning.regularization if self.sgd else self.learning.learning_rate)

    @property
    def _seen(self) -> Floats:
        """1 / N, and 0 where a feature was never seen: its weight is 0 whatever its value."""
        return np.where(self.inverse < 1 / UNSEEN, self.inverse, np.float32(0))

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """Take note of larger columns."""
        self.magnitude = magnitude


def powers_of_two(magnitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each column the power of two that brings its largest magnitude into (1/2, 1].

    Examples
    --------
    >>> powers_of_two(np.array([0.0, 1.0, 3.0, 0.25]))
    array([1.  , 1.  , 0.25, 4.  ])
    """
    mantissa, exponent = np.frexp(magnitude)
    exponent = np.where(mantissa == 0.5, exponent - 1, exponent)
    return np.where(magnitude > 0, np.ldexp(1.0, -exponent), 1.0)


def largest_magnitudes(rows: Rows) -> NDArray[np.float64]:
    """The largest absolute value of each column."""
    if not sparse.issparse(rows):
        extremes = np.maximum(rows.max(axis=0, initial=0), -rows.min(axis=0, initial=0))
        return np.asarray(extremes, dtype=np.float64)
    out = np.zeros(rows.shape[1])
    _raise_to_magnitudes(rows.indices, rows.data, out)
    return out


@njit(cache=True, nogil=True)
def _raise_to_magnitudes(
    indices: NDArray[np.int32], data: NDArray[np.float32], out: NDArray[np.float64]
) -> None:
    for i in range(len(data)):
        out[indices[i]] = max(out[indices[i]], abs(data[i]))
