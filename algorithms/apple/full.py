"""The full expansion of sparse rows, as VW's ``--interactions ::`` does it: nothing is chosen.

Every product of up to `degree` features of a row is emitted once and lives in the bucket of its
key. Products that hash to the same bucket share its weight: at these numbers no table could tell
them apart, and nobody needs their names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.apple.learner import Learning
from leaseboard.algorithms.apple.monomials import bucket_of
from leaseboard.algorithms.apple.records import RecordLearner
from leaseboard.algorithms.apple.sparse_rows import (
    CSR,
    Records,
    Scratch,
    Update,
    csr_of,
    emit_base,
    learn_emitted,
    new_scratch,
    predict_emitted,
)
from leaseboard.algorithms.apple.update import EXAMPLES, FAST, UNSEEN, clamp
from leaseboard.algorithms.benches.holdout import Floats, Rows
from leaseboard.algorithms.errors import SkipError

MOST_PRODUCTS = 2**25
"""A row may have so many products; they take 40 bytes each, once."""


class Products(NamedTuple):
    """The slots of a `FullLearner` as its kernels see them, and what it multiplies."""

    records: Records
    scale: NDArray[np.float64]
    variable_keys: NDArray[np.uint64]
    indicators: NDArray[np.bool_]
    bits: int
    degree: int


class FullLearner(RecordLearner):
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
        self._allocate(n_variables + 1 + (1 << learning.bits), moments=False)
        self.inverse[:] = 1 / UNSEEN

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

    def _products(self) -> Products:
        return Products(
            self.records, self._scale, self.variable_keys, self.indicators, self.learning.bits,
            self.full_degree,
        )  # fmt: skip

    def _room(self, csr: CSR) -> tuple[Scratch, NDArray[np.int32]]:
        """Room for the expansion of the fullest row, and for the place each feature extends."""
        longest = int(np.diff(csr.indptr).max(initial=0))
        room = math.comb(longest + self.full_degree, self.full_degree)
        if room > MOST_PRODUCTS:
            raise SkipError(
                f"a row of {longest} features has {room:.3g} products of up to"
                f" {self.full_degree}, more than {MOST_PRODUCTS}: lower the degree"
            )
        return new_scratch(room), np.empty(room + 1, dtype=np.int32)

    def _learn(self, rows: Rows, labels: Floats, weights: Floats, out: Floats) -> int:
        csr = csr_of(rows)
        bad: int = _learn(
            csr, labels, weights, self._products(), *self._room(csr), self._update, out
        )
        return bad

    def _predict(self, rows: Rows, fixed: float, low: float, high: float, out: Floats) -> None:
        csr = csr_of(rows)
        _predict(csr, self._products(), *self._room(csr), fixed, low, high, out)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def _emit(
    csr: CSR, row: int, products: Products, scratch: Scratch, last: NDArray[np.int32]
) -> tuple[int, int]:
    """Emit each multiset of the row's features once: a product is extended only to the right."""
    slots, v, keys = scratch.slots, scratch.v, scratch.keys
    base = emit_base(csr, row, products.scale, products.variable_keys, scratch)
    for i in range(base):
        last[i] = i
    first_bucket = len(products.scale) + 1
    size = base + 1
    start, stop = 0, base
    for _ in range(1, products.degree):
        level = size
        for place in range(start, stop):
            first = last[place]
            if products.indicators[slots[first]]:
                first += 1
            for i in range(first, base):
                keys[size] = keys[place] + keys[i]
                slots[size] = first_bucket + bucket_of(keys[size], products.bits)
                v[size] = v[place] * v[i]
                last[size] = i
                size += 1
        start, stop = level, size
    return size, base


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _learn(
    csr: CSR,
    labels: Floats,
    weights: Floats,
    products: Products,
    scratch: Scratch,
    last: NDArray[np.int32],
    update: Update,
    out: Floats,
) -> int:
    for t in range(len(labels)):
        size, base = _emit(csr, t, products, scratch, last)
        p = learn_emitted(products.records, scratch, size, base, labels[t], weights[t], update)
        if not np.isfinite(p):
            return t
        out[t] = p
    return -1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _predict(
    csr: CSR,
    products: Products,
    scratch: Scratch,
    last: NDArray[np.int32],
    fixed: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = _emit(csr, t, products, scratch, last)
        out[t] = clamp(predict_emitted(products.records, scratch, size, fixed), low, high)
