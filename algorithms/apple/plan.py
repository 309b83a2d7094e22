"""The learner of dense rows: S_k as a plan of products, without hashing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.expanders import PlanExpander
from leaseboard.algorithms.apple.learner import GrowingLearner, Learning, Monomial, monomial_key
from leaseboard.algorithms.apple.update import UNSEEN
from leaseboard.algorithms.environments.holdout import Rows


class PlanLearner(GrowingLearner):
    """Learner for dense rows of few columns; exact, no two monomials ever share a slot."""

    def __init__(self, n_variables: int, learning: Learning) -> None:
        super().__init__(n_variables, learning)
        d = n_variables
        self._base_slots(d + 1)
        self.w = np.zeros(d + 1, dtype=np.float32)
        self.g = np.zeros(d + 1, dtype=np.float32)
        self.inverse = np.full(d + 1, 1 / UNSEEN, dtype=np.float32)
        self.residual_moments = np.zeros(d + 1 if learning.moments else 0)
        self.square_moments = self.residual_moments.copy()

    def slots(self) -> NDArray[np.intp]:
        """Return all but the constant's."""
        return np.delete(np.arange(len(self.keys)), self.n_variables)

    def expand(self, parents: Iterable[Monomial]) -> None:
        """Add the children of `parents` that are not in S_k."""
        by_degree = itertools.groupby(sorted(parents, key=len), key=len)
        for _, monomials in by_degree:
            keys = np.array([monomial_key(m, self.variable_keys) for m in monomials])
            slots = self._slots_of(keys)
            slots = slots[~self.parent[slots]]
            self._append_children(slots, np.ones((len(slots), self.n_variables), dtype=np.bool_))

    def places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return all of `other`'s slots; this feature set must hold its own."""
        return np.arange(len(other.keys)), self._slots_of(other.keys)

    def expand_all(self, degree: int, indicators: NDArray[np.bool_]) -> None:
        """Put all monomials up to `degree` into S_k, but no square of an indicator."""
        variables = np.arange(self.n_variables)
        for below in range(1, degree):
            slots = np.flatnonzero(self.degree == below)
            last = self.variable[slots][:, None]
            squares = (variables == last) & ~indicators
            self._append_children(slots, (variables > last) | squares)

    def _slots_of(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        order = np.argsort(self.keys)
        return order[np.searchsorted(self.keys, keys, sorter=order)]

    def _append_children(self, slots: NDArray[np.intp], allowed: NDArray[np.bool_]) -> None:
        """Make parents of `slots`; `allowed` says for each of them which variables count."""
        self.parent[slots] = True
        keys = (self.keys[slots][:, None] + self.variable_keys[None, :]).ravel()
        places = np.flatnonzero(allowed)
        _, first = np.unique(keys[places], return_index=True)
        first = places[np.sort(first)]
        first = first[~np.isin(keys[first], self.keys)]
        source, variable = slots[first // self.n_variables], first % self.n_variables
        n = len(first)
        self.keys = np.append(self.keys, keys[first])
        self.source = np.append(self.source, source.astype(np.uint32))
        self.variable = np.append(self.variable, variable.astype(np.uint32))
        self.degree = np.append(self.degree, self.degree[source] + np.uint8(1))
        self.parent = np.append(self.parent, np.zeros(n, dtype=np.bool_))
        self.w = np.append(self.w, np.zeros(n, dtype=np.float32))
        self.g = np.append(self.g, np.zeros(n, dtype=np.float32))
        self.inverse = np.append(self.inverse, np.full(n, 1 / UNSEEN, dtype=np.float32))
        if self.learning.moments:
            self.residual_moments = np.append(self.residual_moments, np.zeros(n))
            self.square_moments = np.append(self.square_moments, np.zeros(n))

    def _expander(self, rows: Rows) -> PlanExpander:
        return PlanExpander(self, rows.toarray() if sparse.issparse(rows) else rows)
