"""Learners of sparse rows: what their kernels share, and the full expansion.

The state of the emitted slots is gathered into neighbouring memory, learned there in vector
lanes, and written back.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.learner import Learning, MonomialLearner, bucket_of
from leaseboard.algorithms.apple.update import (
    EXAMPLES,
    NONZEROS,
    UNSEEN,
    Real,
    Update,
    add_up,
    clamp,
    learn_adaptive,
)
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.arrays import read_only
from leaseboard.algorithms.environments.holdout import Floats, Rows
from leaseboard.algorithms.errors import SkipError

Records = NDArray[np.void]
"""Slots with at least the fields `w`, `g` and `inverse`: ω, γ and 1 / N."""


class CSR(NamedTuple):
    """Sparse rows as their three arrays."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: Floats


class Scratch(NamedTuple):
    """One row's emitted features: slots, values, copies of their state, keys."""

    slots: NDArray[np.uint32]
    v: Floats
    z: Floats
    w: Floats
    g: Floats
    inverse: Floats
    keys: NDArray[np.uint64]


def csr_of(rows: Rows) -> CSR:
    """Return the arrays of sparse rows, or of dense ones made sparse.

    They are read-only, for any owner of the rows, so that the kernels are compiled once.
    """
    rows = rows if sparse.issparse(rows) else sparse.csr_array(rows)
    indices = rows.indices.astype(np.int32, copy=False)
    return CSR(read_only(rows.indptr.astype(np.int64)), read_only(indices), read_only(rows.data))


def new_scratch(n_features: int) -> Scratch:
    """Return room for so many emitted features, and one that is written but not counted."""
    v, w, g, inverse = (np.empty(n_features + 1, dtype=np.float32) for _ in range(4))
    z = np.empty(3 * (n_features + 1), dtype=np.float32)
    slots = np.empty(n_features + 1, dtype=np.uint32)
    return Scratch(slots, v, z, w, g, inverse, np.empty(n_features + 1, dtype=np.uint64))


@compiled(error_model="numpy", inline="always")
def emit_base(
    csr: CSR,
    row: int,
    scale: NDArray[np.float64],
    variable_keys: NDArray[np.uint64],
    scratch: Scratch,
) -> int:
    """Emit a row's non-zero base features and then the constant; returns how many are base."""
    indptr, indices, data = csr
    slots, v, keys = scratch.slots, scratch.v, scratch.keys
    base = 0
    for i in range(indptr[row], indptr[row + 1]):
        variable = indices[i]
        x = np.float32(data[i] * scale[variable])
        if x != 0:
            slots[base] = variable
            v[base] = x
            keys[base] = variable_keys[variable]
            base += 1
    slots[base] = len(scale)
    v[base] = np.float32(1.0)
    return base


@compiled(error_model="numpy", inline="always")
def learn_emitted(
    records: Records, scratch: Scratch, size: int, base: int, y: Real, h: Real, update: Update
) -> Real:
    """Predict and learn the emitted features, `base` of them base, with the weight `h`."""
    slots, v, z, w, g, inverse, _ = scratch
    totals, residual_moments, square_moments, rate = update
    # Gather the state of the emitted slots.
    for i in range(size):
        record = records[slots[i]]
        w[i] = record.w
        g[i] = record.g
        inverse[i] = record.inverse
    p = learn_adaptive(w, g, inverse, v, z, size, y, h, rate, totals)
    totals[EXAMPLES] += 1
    totals[NONZEROS] += base + 1
    # Write it back.
    for i in range(size):
        record = records[slots[i]]
        record.w = w[i]
        record.g = g[i]
        record.inverse = inverse[i]
    # Add to the sums of the SSM heuristic.
    if len(square_moments) and np.isfinite(p):
        residual = np.float64(y - p) ** 2
        for i in range(size):
            square = h * np.float64(v[i]) ** 2
            residual_moments[slots[i]] += residual * square
            square_moments[slots[i]] += square
    return p


@compiled(error_model="numpy", inline="always")
def predict_emitted(records: Records, scratch: Scratch, size: int) -> Real:
    """Return the raw prediction."""
    unseen = np.float32(1 / UNSEEN)
    for i in range(size):
        record = records[scratch.slots[i]]
        scratch.z[i] = np.float32(0.0)
        if record.inverse < unseen:
            scratch.z[i] = record.w * (scratch.v[i] * record.inverse)
    return add_up(scratch.z, size)


RECORD = np.dtype(
    [("w", np.float32), ("g", np.float32), ("inverse", np.float32), ("last_row", np.uint32)],
    align=True,
)
"""A slot: ω, γ, 1 / N, and the number of the last row that emitted it, where anyone asks."""

LINE = 64
"""Bytes of a cache line."""


class RecordLearner(MonomialLearner):
    """Learner whose slots are records: any look-up costs one cache line.

    Attributes
    ----------
    records : structured ndarray, shape (n_slots,)
        Each field is also an attribute of the learner, a view of the records.
    """

    kernels: ClassVar[tuple[Any, Any]]
    """What learns rows and what predicts them, compiled."""

    records: Records
    last_row: NDArray[np.uint32]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the views, which would come back as copies."""
        fields = self.records.dtype.names or ()
        return {name: value for name, value in vars(self).items() if name not in fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._link()

    def _allocate(self, n_slots: int, *, moments: bool) -> None:
        """Empty slots, and base features never seen; no slot straddles two lines."""
        raw = np.zeros(n_slots * RECORD.itemsize + LINE, dtype=np.uint8)
        start = -raw.ctypes.data % LINE
        self.records = raw[start : start + n_slots * RECORD.itemsize].view(RECORD)
        self._link()
        self.inverse[: self.n_variables + 1] = 1 / UNSEEN
        self.residual_moments = np.zeros(n_slots if moments else 0)
        self.square_moments = self.residual_moments.copy()

    def _link(self) -> None:
        for name in self.records.dtype.names or ():
            setattr(self, name, self.records[name])

    @abstractmethod
    def _scratch(self, csr: CSR) -> tuple[Any, ...]:
        """Return room for the expansion of any of the rows."""

    @abstractmethod
    def _table(self, n_rows: int = 0) -> Any:
        """Return the slots as the kernels see them, for so many rows to come."""

    def _learn(self, rows: Rows, labels: Floats, weights: Floats, out: Floats) -> int:
        csr = csr_of(rows)
        table, longest_row = self._table(len(labels)), self._scratch(csr)
        bad: int = self.kernels[0](csr, labels, weights, table, *longest_row, self._update, out)
        return bad

    def _predict(self, rows: Rows, low: float, high: float, out: Floats) -> None:
        csr = csr_of(rows)
        self.kernels[1](csr, self._table(len(out)), *self._scratch(csr), low, high, out)


MOST_PRODUCTS = 2**25
"""A row may have so many products; they take 40 bytes each, once."""


class Products(NamedTuple):
    """Slots of a `FullLearner` as its kernels see them, and what it multiplies."""

    records: Records
    scale: NDArray[np.float64]
    variable_keys: NDArray[np.uint64]
    indicators: NDArray[np.bool_]
    bits: int
    degree: int


@compiled(error_model="numpy", inline="always")
def _emit(
    csr: CSR, row: int, products: Products, scratch: Scratch, last: NDArray[np.int32]
) -> tuple[int, int]:
    """Emit each multiset of the row's features once: a product is extended only to the right."""
    slots, v, keys = scratch.slots, scratch.v, scratch.keys
    base = emit_base(csr, row, products.scale, products.variable_keys, scratch)
    for i in range(base):
        last[i] = i
    # A level holds the products of one degree, from `start` to `stop`.
    first_bucket = len(products.scale) + 1
    size = base + 1
    start, stop = 0, base
    for _ in range(1, products.degree):
        level = size
        for place in range(start, stop):
            # Go on with the product's last factor, or behind it where it is its own square.
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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def _predict(
    csr: CSR,
    products: Products,
    scratch: Scratch,
    last: NDArray[np.int32],
    low: float,
    high: float,
    out: Floats,
) -> None:
    for t in range(len(out)):
        size, _ = _emit(csr, t, products, scratch, last)
        out[t] = clamp(predict_emitted(products.records, scratch, size), low, high)


class FullLearner(RecordLearner):
    """All monomials up to a degree, as VW's ``--interactions ::`` has them: nothing is chosen.

    Every product of up to `degree` features of a row is emitted once and lives in the bucket of
    its key. Products that hash to the same bucket share its weight: at these numbers no table
    could separate them, and their names are not needed.

    Parameters
    ----------
    n_variables : int
    learning : Learning
    degree : int
    indicators : ndarray of bool, shape (n_variables,)
        Columns of zeros and ones, which are their own squares.
    """

    kernels = (_learn, _predict)

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
        """Take the scale of the first rows: N of a shared bucket cannot follow a new one."""
        if not self.totals[EXAMPLES]:
            self.magnitude = magnitude

    def _table(self, n_rows: int = 0) -> Products:
        return Products(
            self.records, self._scale, self.variable_keys, self.indicators, self.learning.bits,
            self.full_degree,
        )  # fmt: skip

    def _scratch(self, csr: CSR) -> tuple[Scratch, NDArray[np.int32]]:
        """Return room for the expansion of the fullest row and its places."""
        longest = int(np.diff(csr.indptr).max(initial=0))
        longest_row = math.comb(longest + self.full_degree, self.full_degree)
        if longest_row > MOST_PRODUCTS:
            raise SkipError(
                f"a row of {longest} features has {longest_row:.3g} products of up to"
                f" {self.full_degree}, more than {MOST_PRODUCTS}: lower the degree"
            )
        return new_scratch(longest_row), np.empty(longest_row + 1, dtype=np.int32)
