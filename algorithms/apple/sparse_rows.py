"""What the kernels for sparse rows share: a row's emitted features, learned and predicted.

The state of the emitted slots is gathered into neighbouring memory, learned there in vector
lanes, and written back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple.update import (
    EXAMPLES,
    FAST,
    NONZEROS,
    UNSEEN,
    Real,
    learn_adaptive,
    learn_sgd,
)
from leaseboard.algorithms.benches.holdout import Floats, Rows
from leaseboard.algorithms.benches.sealed import sealed

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


class Update(NamedTuple):
    """How an example is learned, and what it changes beside its slots' records.

    `rate` is η, or λ under SGD. The moments are those of a `GrowingLearner`.
    """

    totals: NDArray[np.float64]
    residual_moments: NDArray[np.float64]
    square_moments: NDArray[np.float64]
    rate: float
    sgd: bool


def csr_of(rows: Rows) -> CSR:
    """The arrays of sparse rows, or of dense ones made sparse.

    They are read-only, whoever owns the rows, so that the kernels are compiled once.
    """
    rows = rows if sparse.issparse(rows) else sparse.csr_array(rows)
    indices = rows.indices.astype(np.int32, copy=False)
    return CSR(sealed(rows.indptr.astype(np.int64)), sealed(indices), sealed(rows.data))


def new_scratch(n_features: int) -> Scratch:
    """Room for so many emitted features, and one that is written but not counted."""
    v, z, w, g, inverse = (np.empty(n_features + 1, dtype=np.float32) for _ in range(5))
    slots = np.empty(n_features + 1, dtype=np.uint32)
    return Scratch(slots, v, z, w, g, inverse, np.empty(n_features + 1, dtype=np.uint64))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def learn_emitted(
    records: Records, scratch: Scratch, size: int, base: int, y: Real, h: Real, update: Update
) -> Real:
    """Predict and learn the emitted features, `base` of them base, with the weight `h`."""
    slots, v, z, w, g, inverse, _ = scratch
    totals, residual_moments, square_moments, rate, sgd = update
    for i in range(size):
        record = records[slots[i]]
        w[i] = record.w
        g[i] = record.g
        inverse[i] = record.inverse
    if sgd:
        p = learn_sgd(w, inverse, v, size, y, h, rate, totals)
    else:
        p = learn_adaptive(w, g, inverse, v, z, size, y, h, rate, totals)
    totals[EXAMPLES] += 1
    totals[NONZEROS] += base + 1
    for i in range(size):
        record = records[slots[i]]
        record.w = w[i]
        record.g = g[i]
        record.inverse = inverse[i]
    if len(square_moments) and np.isfinite(p):
        residual = np.float64(y - p) ** 2
        for i in range(size):
            square = h * np.float64(v[i]) ** 2
            residual_moments[slots[i]] += residual * square
            square_moments[slots[i]] += square
    return p


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def predict_emitted(records: Records, scratch: Scratch, size: int, fixed: float) -> Real:
    """The raw prediction; `fixed` stands for 1 / N under SGD and is 0 otherwise."""
    unseen = np.float32(1 / UNSEEN)
    p = np.float32(0.0)
    for i in range(size):
        record = records[scratch.slots[i]]
        if record.inverse < unseen:
            factor = np.float32(fixed) if fixed > 0 else record.inverse
            p += record.w * (scratch.v[i] * factor)
    return p
