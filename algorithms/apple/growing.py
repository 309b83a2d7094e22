"""A learner whose feature set grows: provenance, the choice of parents, expansion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.apple.heuristics import Heuristic, ssm_score, top
from leaseboard.algorithms.apple.learner import MonomialLearner
from leaseboard.algorithms.apple.monomials import Monomial
from leaseboard.algorithms.apple.update import EXAMPLES, UNSEEN


class GrowingLearner(MonomialLearner):
    """The learner of Algorithm 1: it knows S_k, P_k, and where each monomial comes from.

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
    residual_moments, square_moments : ndarray of float64
        The sums of the SSM heuristic for each slot, or empty.
    """

    keys: NDArray[np.uint64]
    source: NDArray[np.uint32]
    variable: NDArray[np.uint32]
    degree: NDArray[np.uint8]
    parent: NDArray[np.bool_]
    residual_moments: NDArray[np.float64]
    square_moments: NDArray[np.float64]

    @abstractmethod
    def slots(self) -> NDArray[np.intp]:
        """The slots of S_k, the constant left out, base variables first."""

    @abstractmethod
    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Slots of `other` and the slots here that hold the same monomials, constant included.

        A monomial of `other` for which there is no room here is left out.
        """

    @abstractmethod
    def expand(self, parents: Iterable[Monomial]) -> None:
        """Line 7: put `parents` into P_k and their children into S_k.

        A parent may be the child of another one in the same call.
        """

    def choose(self, size: int, heuristic: Heuristic, *, fallback: bool = False) -> list[Monomial]:
        """M_k of line 6: the `size` non-parents with the highest scores.

        With `fallback` (section 2.4) the last place goes to a non-parent of the smallest
        degree, the first in the order of the variables, whatever its score.
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
        """The monomial in a slot, read off its provenance."""
        variables = []
        while slot != self.n_variables:
            variables.append(int(self.variable[slot]))
            slot = int(self.source[slot])
        return tuple(sorted(variables))

    def parents(self) -> list[Monomial]:
        """P_k, by degree and then in the order of the variables: every prefix comes first."""
        slots = self.slots()
        found = (self.monomial(slot) for slot in slots[self.parent[slots]])
        return sorted(found, key=lambda monomial: (len(monomial), monomial))

    def weights(self) -> list[tuple[Monomial, float]]:
        """Monomials with their weights on the scale of the data, heaviest contribution first.

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
        weight = np.abs(self.w[slots].astype(np.float64))
        return weight / self.inverse[slots] if self.sgd else weight

    def _raw_weights(self, slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """The weights w on the scale of the data."""
        w = self.w[slots].astype(np.float64)
        if self.sgd:
            return np.asarray(w / (self.totals[EXAMPLES] + 1.0))
        return np.asarray(w * self._seen[slots] * self._factors(self._scale)[slots])

    def _factors(self, of_variables: NDArray[np.float64]) -> NDArray[np.float64]:
        """The product over each slot's variables of a quantity of the variables."""
        factors = np.ones(len(self.keys))
        factors[: self.n_variables] = of_variables
        slots = self.slots()[self.n_variables :]
        _multiply_up(factors, of_variables, slots, self.source, self.variable)
        return factors

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """N shrinks with the scale of its variables; ω and γ do not notice."""
        before = self._scale
        self.magnitude = magnitude
        shift = self._scale / before
        if self.sgd or np.all(shift == 1) or not self.totals[EXAMPLES]:
            return
        factors = self._factors(shift)
        moved = np.flatnonzero(factors != 1)
        moved = moved[self.inverse[moved] < 1 / UNSEEN]
        self.inverse[moved] /= factors[moved].astype(np.float32)
        if self.learning.moments:
            self.residual_moments *= factors**2
            self.square_moments *= factors**2


@njit(cache=True, nogil=True)
def _multiply_up(
    factors: NDArray[np.float64],
    of_variables: NDArray[np.float64],
    slots: NDArray[np.intp],
    source: NDArray[np.uint32],
    variable: NDArray[np.uint32],
) -> None:
    """Each product's factor is its source's, which comes before it, times its variable's."""
    for slot in slots:
        factors[slot] = factors[source[slot]] * of_variables[variable[slot]]
