"""The full expansion of sparse rows, as VW's ``--interactions ::`` does it: nothing is chosen.

Every product of up to `degree` features of a row is emitted once and lives in the bucket of its
key. Products that hash to the same bucket share its weight: at these numbers no table could tell
them apart, and nobody needs their names.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.apple.learner import Learner, Learning
from algorithms.apple.monomials import bucket_of
from algorithms.apple.sparse_rows import (
    CSR,
    Scratch,
    csr_of,
    emit_base,
    learn_emitted,
    new_scratch,
    new_state,
    predict_emitted,
)
from algorithms.apple.update import EXAMPLES, FAST, NONZEROS, UNSEEN, clamp
from algorithms.benches.holdout import Floats, Rows
from algorithms.errors import SkipError

MOST_PRODUCTS = 2**25
"""A row may have so many products; they take 40 bytes each, once."""


class FullLearner(Learner):
    """All monomials up to a degree, over hashed slots.

    Parameters
    ----------
    n_variables : int
    learning : Learning
    degree : int
    indicators : ndarray of bool, shape (n_variables,)
        Columns of zeros and ones, which are their own squares.
    """

    def __init__(
        self, n_variables: int, learning: Learning, degree: int, indicators: NDArray[np.bool_]
    ) -> None:
        super().__init__(n_variables, learning)
        self.full_degree = degree
        self.indicators = indicators
        self.state = new_state(n_variables + 1 + (1 << learning.bits))
        self._link()

    def __getstate__(self) -> dict[str, Any]:
        """Without the views, which would come back as copies."""
        views = ("w", "g", "inverse")
        return {name: value for name, value in vars(self).items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._link()

    def _link(self) -> None:
        self.w, self.g, self.inverse = (self.state[:, column] for column in range(3))

    @property
    def size(self) -> int:
        """The base variables and the buckets in use, however many monomials share them."""
        buckets = self.inverse[self.n_variables + 1 :]
        return self.n_variables + int(np.count_nonzero(buckets < 1 / UNSEEN))

    @property
    def max_degree(self) -> int:
        """The degree of the expansion."""
        return self.full_degree

    def _rescale(self, magnitude: NDArray[np.float64]) -> None:
        """The scale is that of the first rows: N of a shared bucket cannot follow a new one."""
        if not self.totals[EXAMPLES]:
            self.magnitude = magnitude

    def _learn(self, rows: Rows, labels: Floats, out: Floats) -> int:
        return _learn(
            csr_of(rows), labels, self.state, self._scratch(rows), self._scale,
            self.variable_keys, self.indicators, self.learning.bits, self.full_degree,
            self.totals, self._rate, self.sgd, out,
        )  # fmt: skip

    def _predict(self, rows: Rows, fixed: float, low: float, high: float, out: Floats) -> None:
        _predict(
            csr_of(rows), self.state, self._scratch(rows), self._scale, self.variable_keys,
            self.indicators, self.learning.bits, self.full_degree, fixed, low, high, out,
        )  # fmt: skip

    def _scratch(self, rows: Rows) -> tuple[Scratch, NDArray[np.int32]]:
        """Room for the expansion of the fullest row, and for the place each feature extends."""
        longest = int(np.diff(csr_of(rows).indptr).max(initial=0))
        room = math.comb(longest + self.full_degree, self.full_degree)
        if room > MOST_PRODUCTS:
            raise SkipError(
                f"a row of {longest} features has {room:.3g} products of up to"
                f" {self.full_degree}, more than {MOST_PRODUCTS}: lower the degree"
            )
        return new_scratch(room), np.empty(room + 1, dtype=np.int32)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _emit(
    csr: CSR,
    row: int,
    room: tuple[Scratch, NDArray[np.int32]],
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    indicators: NDArray[np.bool_],
    bits: int,
    full_degree: int,
) -> tuple[int, int]:
    """Emit each multiset of the row's features once: a product is extended only to the right."""
    scratch, last = room
    slots, v, keys = scratch.slots, scratch.v, scratch.keys
    base = emit_base(csr, row, scale, scratch)
    for i in range(base):
        keys[i] = variable_keys[slots[i]]
        last[i] = i
    size = base + 1
    start, stop = 0, base
    for _ in range(1, full_degree):
        level = size
        for place in range(start, stop):
            first = last[place]
            if indicators[slots[first]]:
                first += 1
            for i in range(first, base):
                keys[size] = keys[place] + keys[i]
                slots[size] = len(scale) + 1 + bucket_of(keys[size], bits)
                v[size] = v[place] * v[i]
                last[size] = i
                size += 1
        start, stop = level, size
    return size, base


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _learn(
    csr: CSR,
    labels: Floats,
    state: Floats,
    room: tuple[Scratch, NDArray[np.int32]],
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    indicators: NDArray[np.bool_],
    bits: int,
    full_degree: int,
    totals: NDArray[np.float64],
    rate: float,
    sgd: bool,
    out: Floats,
) -> int:
    for t in range(len(labels)):
        size, base = _emit(csr, t, room, scale, variable_keys, indicators, bits, full_degree)
        p = learn_emitted(state, room[0], size, labels[t], rate, sgd, totals)
        totals[EXAMPLES] += 1
        totals[NONZEROS] += base + 1
        if not np.isfinite(p):
            return t
        out[t] = p
    return -1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _predict(
    csr: CSR,
    state: Floats,
    room: tuple[Scratch, NDArray[np.int32]],
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    indicators: NDArray[np.bool_],
    bits: int,
    full_degree: int,
    fixed: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = _emit(csr, t, room, scale, variable_keys, indicators, bits, full_degree)
        out[t] = clamp(predict_emitted(state, room[0], size, fixed), low, high)
