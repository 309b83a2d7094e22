"""Linear models over monomials, for all kernels, and those whose feature set grows.

A monomial is the sorted tuple of its variables with repeats: ``(0, 0, 3)`` is :math:`x_0^2 x_3`.
Kernels know it by a 64-bit key, the wrapping sum of one random odd number per variable. The sum
commutes, so ``x1 * x2`` and ``x2 * x1`` are one feature; VW's hash depends on the path and counts
them twice. Two of m monomials share a key with a probability below m² / 2^64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.expanders import Expander
from leaseboard.algorithms.apple.update import EMITTED, EXAMPLES, HIGH, LOW, NONZEROS, UNSEEN
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import DivergedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Settings of a learner: how it updates its weights and how large it may grow.

    Attributes
    ----------
    learning_rate : float
        η of VW's update.
    bits : int
        Monomials of degree two and more share a table of 2^bits slots.
    moments : bool
        Keep the sums of the SSM heuristic.
    """

    learning_rate: float = 0.5
    bits: int = 18
    moments: bool = False


class MonomialLearner(ABC):
    """Linear model over monomials, which live in slots.

    Slots 0 to d - 1 hold the base variables, slot d the constant, the rest monomials of higher
    degree. All columns are scaled by powers of two to at most 1 in magnitude. VW's update is
    indifferent to that, and products of any degree then stay within float32.

    Attributes
    ----------
    w, g, inverse : ndarray of float32, shape (n_slots,)
        ω, γ and 1 / N, see `leaseboard.algorithms.apple.update`.
    totals : ndarray of float64, shape (8,)
    """

    w: Floats
    g: Floats
    inverse: Floats
    residual_moments: NDArray[np.float64]
    square_moments: NDArray[np.float64]

    def __init__(self, n_variables: int, learning: Learning) -> None:
        self.n_variables = n_variables
        self.learning = learning
        self.variable_keys = variable_keys(n_variables)
        self.magnitude = np.zeros(n_variables)
        self.totals = np.zeros(8)

    def learn(self, rows: Rows, labels: Floats, weights: Floats | None = None) -> Floats:
        """Predict each example and then learn it (lines 3 and 4); return the predictions.

        Parameters
        ----------
        rows, labels
        weights : ndarray of float32, shape (n_examples,), optional
            Above 0: how many examples each counts for; 1 by default.
        """
        self._rescale(np.maximum(self.magnitude, largest_magnitudes(rows)))
        out = np.empty(len(labels), dtype=np.float32)
        weights = np.ones(len(labels), dtype=np.float32) if weights is None else weights
        expander = self._expander(rows)
        bad = expander.learn(np.ascontiguousarray(labels), np.ascontiguousarray(weights), out)
        if bad >= 0:
            raise DivergedError(
                f"the prediction of training example {bad} is not finite at learning rate"
                f" {self.learning.learning_rate}: lower it"
            )
        return out

    def predict(self, rows: Rows) -> Floats:
        """Return predictions, clamped to the labels' range; learn nothing."""
        return self._predicted(rows, *self.label_range)

    def margins(self, rows: Rows) -> Floats:
        """Return predictions that are not clamped, linear in the weights; learn nothing."""
        return self._predicted(rows, -np.inf, np.inf)

    def _predicted(self, rows: Rows, low: float, high: float) -> Floats:
        out = np.empty(rows.shape[0], dtype=np.float32)
        self._expander(rows).predict(low, high, out)
        return out

    @property
    def label_range(self) -> tuple[float, float]:
        """Range that predictions are clamped to."""
        return self.totals[LOW], self.totals[HIGH]

    @property
    def magnitude(self) -> NDArray[np.float64]:
        """The largest magnitude of each column; to be set, for the scale follows it."""
        return self._magnitude

    @magnitude.setter
    def magnitude(self, magnitude: NDArray[np.float64]) -> None:
        self._magnitude = magnitude.view()
        self._magnitude.setflags(write=False)
        self.scale = powers_of_two(magnitude)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of monomials, the constant not counted."""

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
    def _expander(self, rows: Rows) -> Expander:
        """Return the kernel that learns and predicts these rows."""

    @property
    def _seen(self) -> Floats:
        """1 / N, and 0 where a feature was never seen: its weight is 0."""
        return np.where(self.inverse < 1 / UNSEEN, self.inverse, np.float32(0))

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """Set the magnitudes of columns, which never fall."""
        self.magnitude = magnitude


def powers_of_two(magnitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two that brings each column's magnitude into (1/2, 1].

    Examples
    --------
    >>> powers_of_two(np.array([0.0, 1.0, 3.0, 0.25]))
    array([1.  , 1.  , 0.25, 4.  ])
    """
    mantissa, exponent = np.frexp(magnitude)
    exponent = np.where(mantissa == 0.5, exponent - 1, exponent)
    return np.where(magnitude > 0, np.ldexp(1.0, -exponent), 1.0)


def largest_magnitudes(rows: Rows) -> NDArray[np.float64]:
    """Return the largest absolute value of each column."""
    if not sparse.issparse(rows):
        extremes = np.maximum(rows.max(axis=0, initial=0), -rows.min(axis=0, initial=0))
        return np.asarray(extremes, dtype=np.float64)
    out = np.zeros(rows.shape[1])
    with np.errstate(invalid="ignore"):  # what is not a number diverges later
        np.maximum.at(out, rows.indices, np.abs(rows.data, dtype=np.float64))
    return out


class GrowingLearner(MonomialLearner):
    """Learner of Algorithm 1: it knows S_k, P_k, and where each monomial comes from.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n_slots,)
        The monomial in each slot; 0 for the constant and for an empty slot.
    source, variable : ndarray of uint32, shape (n_slots,)
        Provenance: the slot of the parent and the variable that multiplied it. The source of a
        base variable is the constant, the empty monomial.
    degree : ndarray of uint8, shape (n_slots,)
    parent : ndarray of bool, shape (n_slots,)
        Membership in P_k.
    """

    keys: NDArray[np.uint64]
    source: NDArray[np.uint32]
    variable: NDArray[np.uint32]
    degree: NDArray[np.uint8]
    parent: NDArray[np.bool_]

    def _base_slots(self, size: int) -> None:
        """Make room for so many monomials; the base variables and the constant are there."""
        d = self.n_variables
        self.keys = np.zeros(size, dtype=np.uint64)
        self.keys[:d] = self.variable_keys
        self.source = np.zeros(size, dtype=np.uint32)
        self.source[: d + 1] = d
        self.variable = np.zeros(size, dtype=np.uint32)
        self.variable[: d + 1] = np.arange(d + 1)
        self.degree = np.zeros(size, dtype=np.uint8)
        self.degree[:d] = 1
        self.parent = np.zeros(size, dtype=np.bool_)

    @abstractmethod
    def slots(self) -> NDArray[np.intp]:
        """Return the slots of S_k, the constant left out, base variables first."""

    @abstractmethod
    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the slots of `other` and those here of the same monomials, constant included.

        A monomial of `other` that this learner does not have is left out.
        """

    @abstractmethod
    def expand(self, parents: Iterable[Monomial]) -> None:
        """Put `parents` into P_k and their children into S_k (line 7).

        A parent may be the child of another one in the same call.
        """

    def choose(self, size: int, heuristic: Heuristic, *, fallback: bool = False) -> list[Monomial]:
        """Return M_k of line 6: the `size` non-parents with the highest scores.

        With `fallback` (section 2.4) the last place goes to a non-parent of the smallest
        degree, the first in the order of the variables, for any score.
        """
        slots = self.slots()
        slots = slots[~self.parent[slots]]
        by_score = size - 1 if fallback else size
        places = top(self._scores(slots, heuristic), self.keys[slots], by_score)
        chosen = [self.monomial(slot) for slot in slots[places]] if by_score else []
        if fallback:
            rest = slots[~np.isin(slots, slots[places])] if by_score else slots
            if len(rest):
                lowest = rest[self.degree[rest] == self.degree[rest].min()]
                chosen.append(min(self.monomial(slot) for slot in lowest))
        return chosen

    def monomial(self, slot: int) -> Monomial:
        """Return the monomial in a slot, read off its provenance."""
        variables = []
        while slot != self.n_variables:
            variables.append(int(self.variable[slot]))
            slot = int(self.source[slot])
        return tuple(sorted(variables))

    def parents(self) -> list[Monomial]:
        """Return P_k, by degree and then in the order of the variables: prefixes come first."""
        slots = self.slots()
        found = (self.monomial(slot) for slot in slots[self.parent[slots]])
        return sorted(found, key=lambda monomial: (len(monomial), monomial))

    def weights(self) -> list[tuple[Monomial, float]]:
        """Return monomials with weights on the scale of the data, heaviest contribution first.

        The empty monomial is the constant.
        """
        slots = np.append(self.slots(), self.n_variables)
        slots = slots[self.w[slots] != 0]
        slots = slots[np.argsort(-np.abs(self.w[slots]), kind="stable")]
        raw = self._raw_weights(slots)
        return [
            (() if slot == self.n_variables else self.monomial(slot), float(weight))
            for slot, weight in zip(slots, raw, strict=True)
        ]

    @property
    def size(self) -> int:
        """|S_k|, the constant not counted."""
        return len(self.slots())

    @property
    def max_degree(self) -> int:
        """The highest degree in S_k."""
        return int(self.degree[self.slots()].max(initial=1))

    def _scores(self, slots: NDArray[np.intp], heuristic: Heuristic) -> NDArray[np.float64]:
        if heuristic == "ssm":
            return ssm_score(self.residual_moments[slots], self.square_moments[slots])
        if heuristic == "raw-weight":
            return np.abs(self._raw_weights(slots))
        return np.abs(self.w[slots].astype(np.float64))

    def _raw_weights(self, slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weights w on the scale of the data."""
        w = self.w[slots].astype(np.float64)
        return np.asarray(w * self._seen[slots] * self._factors(self.scale)[slots])

    def _factors(self, of_variables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product over each slot's variables of a quantity of the variables."""
        factors = np.ones(len(self.keys))
        factors[: self.n_variables] = of_variables
        slots = self.slots()[self.n_variables :]
        for degree in range(2, self.max_degree + 1):  # a product's source is one degree lower
            at = slots[self.degree[slots] == degree]
            factors[at] = factors[self.source[at]] * of_variables[self.variable[at]]
        return factors

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """Set the magnitudes; N shrinks with the scale of its variables, ω and γ stay."""
        before = self.scale
        self.magnitude = magnitude
        shift = self.scale / before
        if np.all(shift == 1) or not self.totals[EXAMPLES]:
            return
        factors = self._factors(shift)
        moved = np.flatnonzero(factors != 1)
        moved = moved[self.inverse[moved] < 1 / UNSEEN]
        self.inverse[moved] /= factors[moved].astype(np.float32)
        if self.learning.moments:
            self.residual_moments *= factors**2
            self.square_moments *= factors**2


Heuristic = Literal["weight", "raw-weight", "ssm"]


def ssm_score(
    residual_moment: NDArray[np.float64], moment: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the estimate of :math:`E[r^2 m^2] / E[m^2]` (section 2.3); 0 where m always was 0.

    Parameters
    ----------
    residual_moment, moment : ndarray of float64, shape (n_monomials,)
        :math:`Σ_t (p_t - y_t)^2 m(x_t)^2` and :math:`Σ_t m(x_t)^2` since training began, p
        made before the update, as the authors' own implementation had it.

    Examples
    --------
    >>> ssm_score(np.array([2.0, 0.0]), np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(residual_moment, moment, out=np.zeros_like(residual_moment), where=moment > 0)


def top(scores: NDArray[np.float64], keys: NDArray[np.uint64], size: int) -> NDArray[np.intp]:
    """Return the places of the `size` highest positive scores, best first, equal ones by key.

    A monomial of score 0 is never chosen: it has not been seen.

    Examples
    --------
    >>> top(np.array([0.0, 3.0, 5.0, 3.0]), np.array([1, 9, 2, 4], dtype=np.uint64), 2)
    array([2, 3])
    """
    places = np.flatnonzero(scores > 0)
    if len(places) > size > 0:
        least = np.partition(scores[places], len(places) - size)[len(places) - size]
        places = places[scores[places] >= least]
    order = np.lexsort((keys[places], -scores[places]))
    return places[order][:size]


Monomial = tuple[int, ...]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE = np.uint64(1)


def variable_keys(n_variables: int) -> NDArray[np.uint64]:
    """Return one odd pseudo-random key per variable: the splitmix64 sequence, last bit set."""
    with np.errstate(over="ignore"):
        z = (np.arange(n_variables, dtype=np.uint64) + _ONE) * _GOLDEN
        z = (z ^ (z >> _S30)) * _MIX1
        z = (z ^ (z >> _S27)) * _MIX2
        return (z ^ (z >> _S31)) | _ONE


def monomial_key(monomial: Monomial, keys: NDArray[np.uint64]) -> np.uint64:
    """Return the wrapping sum of the variables' keys.

    Examples
    --------
    >>> keys = variable_keys(4)
    >>> bool(monomial_key((1, 2), keys) == monomial_key((2, 1), keys))
    True
    """
    return np.uint64(np.sum(keys[list(monomial)], dtype=np.uint64))


def times(monomial: Monomial, variable: int) -> Monomial:
    """Return :math:`x_i m(x)`, the child of a parent (algorithm 1, line 7)."""
    return tuple(sorted((*monomial, variable)))


def readable(monomial: Monomial, names: Sequence[str]) -> str:
    """Return the monomial as a product of named features.

    Examples
    --------
    >>> readable((0, 0, 2), ["age", "sex", "fare"])
    'age^2*fare'
    """
    powers = Counter(names[variable] for variable in monomial)
    return "*".join(name if n == 1 else f"{name}^{n}" for name, n in powers.items())
