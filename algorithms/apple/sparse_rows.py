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

from algorithms.apple.update import FAST, UNSEEN, Real, learn_adaptive, learn_sgd
from algorithms.benches.holdout import Floats, Rows

W, G, INVERSE = range(3)
"""Columns of a state: ω, γ and 1 / N of a slot side by side, within one cache line."""


class CSR(NamedTuple):
    """Sparse rows as their three arrays."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: Floats


class Scratch(NamedTuple):
    """One row's emitted features: slots, values, copies of their state; keys of the base ones."""

    slots: NDArray[np.uint32]
    v: Floats
    z: Floats
    w: Floats
    g: Floats
    inverse: Floats
    keys: NDArray[np.uint64]
    buckets: NDArray[np.uint32]


def csr_of(rows: Rows) -> CSR:
    """The arrays of sparse rows, or of dense ones made sparse."""
    rows = rows if sparse.issparse(rows) else sparse.csr_array(rows)
    return CSR(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


def new_state(n_slots: int) -> Floats:
    """The state of slots that were never seen; four columns, so that none straddles a line."""
    state = np.zeros((n_slots, 4), dtype=np.float32)
    state[:, INVERSE] = 1 / UNSEEN
    return state


def new_scratch(n_features: int) -> Scratch:
    """Room for so many emitted features, and one that is written but not counted."""
    v, z, w, g, inverse = (np.empty(n_features + 1, dtype=np.float32) for _ in range(5))
    slots = np.empty(n_features + 1, dtype=np.uint32)
    keys = np.empty(n_features + 1, dtype=np.uint64)
    return Scratch(slots, v, z, w, g, inverse, keys, np.empty_like(slots))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def emit_base(csr: CSR, row: int, scale: NDArray[np.float64], scratch: Scratch) -> int:
    """Emit a row's non-zero base features and then the constant; returns how many are base."""
    base = 0
    for i in range(csr.indptr[row], csr.indptr[row + 1]):
        x = np.float32(csr.data[i] * scale[csr.indices[i]])
        if x != 0:
            scratch.slots[base] = csr.indices[i]
            scratch.v[base] = x
            base += 1
    scratch.slots[base] = len(scale)
    scratch.v[base] = np.float32(1.0)
    return base


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def learn_emitted(
    state: Floats,
    scratch: Scratch,
    size: int,
    y: Real,
    rate: float,
    sgd: bool,
    totals: NDArray[np.float64],
) -> Real:
    """Predict and learn the emitted features; returns the prediction."""
    slots, v, z, w, g, inverse, _, _ = scratch
    for i in range(size):
        w[i] = state[slots[i], W]
        g[i] = state[slots[i], G]
        inverse[i] = state[slots[i], INVERSE]
    if sgd:
        p = learn_sgd(w, inverse, v, size, y, rate, totals)
    else:
        p = learn_adaptive(w, g, inverse, v, z, size, y, rate, totals)
    for i in range(size):
        state[slots[i], W] = w[i]
        state[slots[i], G] = g[i]
        state[slots[i], INVERSE] = inverse[i]
    return p


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def predict_emitted(state: Floats, scratch: Scratch, size: int, fixed: float) -> Real:
    """The raw prediction; `fixed` stands for 1 / N under SGD and is 0 otherwise."""
    unseen = np.float32(1 / UNSEEN)
    p = np.float32(0.0)
    for i in range(size):
        slot = scratch.slots[i]
        inverse = state[slot, INVERSE]
        if inverse < unseen:
            factor = np.float32(fixed) if fixed > 0 else inverse
            p += state[slot, W] * (scratch.v[i] * factor)
    return p
