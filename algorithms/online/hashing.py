"""Vowpal Wabbit's feature hashing: 32-bit MurmurHash3 and the crossing of hashes.

References
----------
.. [1] Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.
       https://arxiv.org/abs/0902.2206
"""

import functools

import numpy as np
from numpy.typing import NDArray

CONSTANT_HASH = 11650396
"""Hash of the constant feature that VW adds to every example."""

FNV_PRIME = 16777619
"""Multiplier that VW uses to hash an interaction out of the hashes of its features."""

_WORD = 0xFFFFFFFF


def murmur3(data: bytes, seed: int) -> int:
    """Return the MurmurHash3 (x86, 32 bit) of `data`.

    Examples
    --------
    >>> murmur3(b"price", 0)
    3888873998
    """
    h = seed & _WORD
    tail_at = len(data) & ~3
    for at in range(0, tail_at, 4):
        k = int.from_bytes(data[at : at + 4], "little")
        h = _rotate(h ^ _scramble(k), 13)
        h = (h * 5 + 0xE6546B64) & _WORD
    if tail_at < len(data):
        h ^= _scramble(int.from_bytes(data[tail_at:], "little"))
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _WORD
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _WORD
    return h ^ (h >> 16)


@functools.lru_cache(maxsize=1 << 14)
def hash_name(name: str, seed: int) -> int:
    """Return the hash of a namespace (`seed` 0) or of a feature (`seed` its namespace's hash).

    As VW's default ``--hash strings``: a name of digits only hashes to its number plus the
    seed, any other to its MurmurHash3.

    Examples
    --------
    >>> hash_name("7", 100)
    107
    """
    if name.isascii() and name.isdigit():
        return (int(name) + seed) & 0xFFFFFFFFFFFFFFFF
    return murmur3(name.encode(), seed & _WORD)


def cross(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the hashes of interactions of terms and features with the hashes `left` and `right`.

    Mask them in the end: what overflows is beyond any mask.

    Examples
    --------
    >>> (cross(np.array([1]), np.array([2])) & (2**18 - 1)).tolist()
    [401]
    """
    return (FNV_PRIME * left) ^ right


def _scramble(k: int) -> int:
    return (_rotate((k * 0xCC9E2D51) & _WORD, 15) * 0x1B873593) & _WORD


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD
