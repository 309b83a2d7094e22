"""The kernel for dense rows: S_k compiled to a plan of products, without hashing.

Slot j is ``value[source[j]] * x[variable[j]]``; slots are filled in order, so a source is always
computed before its children. Values, weights and gradient sums lie side by side, and the update
runs over them in vector lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.learner import GrowingLearner, Learning, Monomial, monomial_key
from leaseboard.algorithms.apple.update import (
    EXAMPLES,
    NONZEROS,
    UNSEEN,
    Update,
    add_up,
    clamp,
    learn_adaptive,
)
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import uniform
from leaseboard.algorithms.environments.holdout import Floats, Rows


class Plan(NamedTuple):
    """Scale of the columns, and the product of each slot.

    Of `factors` the low 32 bits are the source, the others the variable: one load for both.
    """

    scale: NDArray[np.float64]
    factors: NDArray[np.uint64]


class Slots(NamedTuple):
    """State of each slot: ω, γ and 1 / N."""

    w: Floats
    g: Floats
    inverse: Floats


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

    @property
    def _plan(self) -> Plan:
        return Plan(self._scale, self.source | self.variable.astype(np.uint64) << np.uint64(32))

    def _learn(self, rows: Rows, labels: Floats, weights: Floats, out: Floats) -> int:
        slots = Slots(self.w, self.g, self.inverse)
        return _learn(_dense(rows), labels, weights, self._plan, slots, self._update, out)

    def _predict(self, rows: Rows, low: float, high: float, out: Floats) -> None:
        _predict(_dense(rows), self._plan, self.w, self._seen, low, high, out)


def _dense(rows: Rows) -> Floats:
    return uniform(rows.toarray() if sparse.issparse(rows) else rows)


@compiled(error_model="numpy")
def _expand_row(x: Floats, plan: Plan, v: Floats) -> int:
    """Fill `v` with the values of all slots; returns the non-zero base features, constant too."""
    scale, factors = plan
    d = len(scale)
    nonzeros = 1
    # Base features, scaled, and the constant.
    for i in range(d):
        v[i] = np.float32(x[i] * scale[i])
        nonzeros += v[i] != 0
    v[d] = np.float32(1.0)
    # Products: a source comes before its children.
    for j in range(d + 1, len(factors)):
        v[j] = v[np.uint32(factors[j])] * v[factors[j] >> np.uint64(32)]
    return nonzeros


@compiled(error_model="numpy")
def _learn(
    rows: Floats, labels: Floats, weights: Floats, plan: Plan, slots: Slots, update: Update,
    out: Floats,
) -> int:  # fmt: skip
    w, g, inverse = slots
    totals, residual_moments, square_moments, rate = update
    size = len(plan.factors)
    v = np.empty(size, dtype=np.float32)
    z = np.empty(3 * size, dtype=np.float32)
    for t in range(len(labels)):
        totals[NONZEROS] += _expand_row(rows[t], plan, v)
        y, h = labels[t], weights[t]
        p = learn_adaptive(w, g, inverse, v, z, size, y, h, rate, totals)
        totals[EXAMPLES] += 1
        if not np.isfinite(p):
            return t
        out[t] = p
        if len(square_moments):  # the sums of the SSM heuristic
            residual = np.float64(y - p) ** 2
            for j in range(size):
                square = h * np.float64(v[j]) ** 2
                residual_moments[j] += residual * square
                square_moments[j] += square
    return -1


@compiled(error_model="numpy")
def _predict(
    rows: Floats, plan: Plan, w: Floats, inverse: Floats, low: float, high: float, out: Floats
) -> None:
    size = len(plan.factors)
    v = np.empty(size, dtype=np.float32)
    for t in range(len(out)):
        _expand_row(rows[t], plan, v)
        for j in range(size):
            v[j] = w[j] * (v[j] * inverse[j])
        out[t] = clamp(add_up(v, size), low, high)
