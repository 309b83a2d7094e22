"""Vowpal Wabbit's feature hashing: 32-bit MurmurHash3 and the crossing of hashes.

References
----------
.. [1] Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.
       https://arxiv.org/abs/0902.2206
"""

from __future__ import annotations

import functools

CONSTANT_HASH = 11650396
"""Hash of the constant feature that VW adds to every example."""

FNV_PRIME = 16777619
"""Multiplier that VW uses to hash an interaction out of the hashes of its features."""

_WORD = 0xFFFFFFFF


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3 (x86, 32 bit) of `data`.

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
    """Hash of a namespace (`seed` 0) or of a feature (`seed` its namespace's hash).

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


def cross(indices: tuple[int, ...], mask: int) -> int:
    """Index of the interaction of features with `indices`, first to last.

    Examples
    --------
    >>> cross((1, 2), 2**18 - 1)
    401
    """
    index = indices[0]
    for following in indices[1:]:
        index = (FNV_PRIME * index) ^ following
    return index & mask


def _scramble(k: int) -> int:
    return (_rotate((k * 0xCC9E2D51) & _WORD, 15) * 0x1B873593) & _WORD


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD
