"""What Vowpal Wabbit calls things: namespaces, features, their hashes, and what of it is tuned.

Features are hashed as VW does [1]_: by 32-bit MurmurHash3, and the crossing of hashes.

References
----------
.. [1] Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.
       https://arxiv.org/abs/0902.2206
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.environments.stream import Origin, Stream

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


Interaction = tuple[str, ...]
"""The names of the namespaces that are multiplied, in sorted order."""


@dataclass(frozen=True, slots=True)
class VWConfiguration:
    """A choice of hyperparameters; equal choices compare equal.

    Attributes
    ----------
    interactions : tuple of tuple of str
        Sorted by length, then by name, the order in which VW generates them.
    learning_rate : float
    namespaces : tuple of str, optional
        Those whose features it has, sorted; all of the schema's if none are named.
    """

    interactions: tuple[Interaction, ...] = ()
    learning_rate: float = 0.5
    namespaces: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        crosses = sorted({tuple(sorted(i)) for i in self.interactions}, key=lambda i: (len(i), i))
        object.__setattr__(self, "interactions", tuple(crosses))
        if self.namespaces is not None:
            object.__setattr__(self, "namespaces", tuple(sorted({*self.namespaces})))
        if not self.learning_rate > 0:
            raise ValueError(
                f"learning rate {self.learning_rate!r} must be positive: VW's default is 0.5"
            )

    def extends(self, other: VWConfiguration) -> bool:
        """Return whether it has every namespace that `other` names, and all its interactions."""
        kept = {*(other.namespaces or ())} <= {*(self.namespaces or ())}
        return kept and {*other.interactions} <= {*self.interactions}

    def parameters(self) -> dict[str, Any]:
        """Return the choice as plain values, for events and tables."""
        kept = {} if self.namespaces is None else {"namespaces": list(self.namespaces)}
        return {
            "interactions": [interaction_text(i) for i in self.interactions],
            "learning_rate": self.learning_rate,
            **kept,
        }


def interaction_text(interaction: Interaction) -> str:
    """Return how an interaction is written.

    Examples
    --------
    >>> interaction_text(("a", "b")), interaction_text(("price", "user"))
    ('ab', 'price|user')
    """
    separator = "" if all(len(name) == 1 for name in interaction) else "|"
    return separator.join(interaction)


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of dense examples.

    Attributes
    ----------
    namespaces : tuple of str
        Names in the order in which VW meets them.
    columns : tuple of tuple of int
        For each namespace its columns, in the order of its features.
    features : tuple of str
        The features' names, by column.
    bits : int
        VW's ``-b``: weights live in a table of ``2 ** bits`` cells.
    origins : tuple of Origin
        For users: what each column is made of; empty where `features` say that.
    called : mapping of str to str
        For users: the names of namespaces that they named themselves.
    entity : str
        The column whose values are entities, where it is named.
    """

    namespaces: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    features: tuple[str, ...]
    bits: int = 18
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    called: Mapping[str, str] = field(default_factory=dict, compare=False)
    entity: str = field(default="", compare=False)

    @property
    def mask(self) -> int:
        """Mask that keeps the low `bits` bits of a hash."""
        return (1 << self.bits) - 1

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.features)

    @property
    def full_names(self) -> bool:
        """True if VW needs full names to distinguish the namespaces, not just first letters."""
        return len({name[:1] for name in self.namespaces}) < len(self.namespaces)

    def groups(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return namespaces with their columns in the order in which VW sums them.

        VW keeps the namespaces of one first letter together, where the first of them appears.
        """
        letters = list(dict.fromkeys(name[:1] for name in self.namespaces))
        pairs = zip(self.namespaces, self.columns, strict=True)
        return sorted(pairs, key=lambda pair: letters.index(pair[0][:1]))

    @functools.lru_cache(maxsize=16)  # noqa: B019 - frozen values, few and small
    def indices(self) -> tuple[int, ...]:
        """Return the masked hash of every column, by column."""
        found = [0] * self.n_features
        for name, columns in zip(self.namespaces, self.columns, strict=True):
            seed = hash_name(name.strip(), 0)
            for column in columns:
                found[column] = hash_name(self.features[column], seed) & self.mask
        return tuple(found)

    def dimension(self, interactions: Sequence[Interaction] = ()) -> int:
        """Return d_c: the number of features, those that `interactions` induce included."""
        sizes = {
            name: len(columns) for name, columns in zip(self.namespaces, self.columns, strict=True)
        }
        return self.n_features + sum(n_products(each, sizes) for each in interactions)


def n_products(interaction: Interaction, sizes: Mapping[str, int]) -> int:
    """Return the number of features of one interaction of namespaces of these `sizes`.

    A namespace with itself has each combination once, as in VW.

    Examples
    --------
    >>> n_products(("a", "b"), {"a": 3, "b": 2}), n_products(("a", "a"), {"a": 3})
    (6, 6)
    """
    found, times = 1, 1
    for k, name in enumerate(interaction):  # sorted: equal names are neighbours
        times = times + 1 if k and interaction[k - 1] == name else 1
        found = found * (sizes[name] + times - 1) // times
    return found


def generated(interaction: Interaction, full_names: bool) -> tuple[tuple[Any, ...], Interaction]:
    """Return where VW generates an interaction among others, and the order of its namespaces."""
    if not full_names:
        unit = tuple(sorted(interaction))
        return (len(unit), unit), unit
    keys = sorted((name[:1], hash_name(name, 0), name) for name in interaction)
    return tuple(keys), tuple(name for *_, name in keys)


def stream_schema(stream: Stream, width: int | None = None) -> Schema:
    """Return the schema of the first `width` columns of a stream, by default of all."""
    known = len(stream.names) if width is None else width
    columns: dict[str, list[int]] = {}
    for run in stream.namespaces:
        if run.start < known:
            columns.setdefault(run.name, []).extend(range(run.start, min(run.stop, known)))
    return Schema(
        namespaces=tuple(columns),
        columns=tuple(map(tuple, columns.values())),
        features=stream.names[:known],
        origins=(stream.origins or tuple(map(Origin, stream.names)))[:known],
    )
