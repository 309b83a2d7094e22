"""Monomials: who they are, whatever path led to them, and how a person reads them.

A monomial is the sorted tuple of its variables with repeats: ``(0, 0, 3)`` is :math:`x_0^2 x_3`.
Kernels know it by a 64-bit key, the wrapping sum of one random odd number per variable. The sum
commutes, so ``x1 * x2`` and ``x2 * x1`` are one feature; VW's hash depends on the path and counts
them twice. Two of m monomials share a key with a chance below m² / 2^64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

Monomial = tuple[int, ...]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE = np.uint64(1)


def variable_keys(n_variables: int) -> NDArray[np.uint64]:
    """One odd pseudo-random key per variable: the splitmix64 sequence, last bit set."""
    with np.errstate(over="ignore"):
        z = (np.arange(n_variables, dtype=np.uint64) + _ONE) * _GOLDEN
        z = (z ^ (z >> _S30)) * _MIX1
        z = (z ^ (z >> _S27)) * _MIX2
        return (z ^ (z >> _S31)) | _ONE


def monomial_key(monomial: Monomial, keys: NDArray[np.uint64]) -> np.uint64:
    """The wrapping sum of the variables' keys.

    Examples
    --------
    >>> keys = variable_keys(4)
    >>> bool(monomial_key((1, 2), keys) == monomial_key((2, 1), keys))
    True
    """
    return np.uint64(np.sum(keys[list(monomial)], dtype=np.uint64))


@njit(cache=True, nogil=True)
def mix(key: np.uint64) -> np.uint64:
    """The key with its bits spread, one to one: splitmix64's finaliser."""
    z = (key ^ (key >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def bucket_of(key: np.uint64, bits: int) -> np.int64:
    """The top `bits` of the mixed key: where a hashed table keeps the monomial."""
    return np.int64(mix(key) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def tag_of(mixed: np.uint64) -> np.uint8:
    """A byte of a mixed key that is never 0."""
    return np.uint8(mixed & np.uint64(0x7F)) | np.uint8(0x80)


def times(monomial: Monomial, variable: int) -> Monomial:
    """:math:`x_i m(x)`: the child of a parent (Algorithm 1, line 7)."""
    return tuple(sorted((*monomial, variable)))


def readable(monomial: Monomial, names: Sequence[str]) -> str:
    """The monomial as a product of named features.

    Examples
    --------
    >>> readable((0, 0, 2), ["age", "sex", "fare"])
    'age^2*fare'
    """
    powers = Counter(names[variable] for variable in monomial)
    return "*".join(name if n == 1 else f"{name}^{n}" for name, n in powers.items())
