"""What Vowpal Wabbit calls things: namespaces, features, their hashes, and what of it is tuned.

A configuration's `Layout` is the static list of terms that the kernel walks.

Features are hashed as VW does [1]_: by 32-bit MurmurHash3, and the crossing of hashes.

References
----------
.. [1] Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.
       https://arxiv.org/abs/0902.2206
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

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


@lru_cache(maxsize=1 << 14)
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

    def extends(self, other: VWConfiguration) -> bool:
        """Return whether it has every namespace that `other` names, and all its interactions."""
        kept = {*(other.namespaces or ())} <= {*(self.namespaces or ())}
        return kept and {*other.interactions} <= {*self.interactions}


VANILLA = {"interactions": [], "learning_rate": 0.5}
"""What Vowpal Wabbit chooses by default, as events and tables have it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """User's column that a feature is made of.

    Attributes
    ----------
    column : str
    part : str
        What of it, such as ``hour``; empty for its values themselves.
    value : str
        Where the feature is 1; empty if it is a number.
    space : str
        The namespace that the example names; empty if it names none.
    """

    column: str
    part: str = ""
    value: str = ""
    space: str = ""


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

    @lru_cache(maxsize=16)  # noqa: B019 - frozen values, few and small
    def indices(self) -> tuple[int, ...]:
        """Return the masked hash of every column, by column."""
        found = [0] * self.n_features
        for name, columns in zip(self.namespaces, self.columns, strict=True):
            seed = hash_name(name.strip(), 0)
            for column in columns:
                found[column] = hash_name(self.features[column], seed) & self.mask
        return tuple(found)

    def first(self, width: int) -> Schema:
        """Return the schema of the first `width` columns."""
        pairs = zip(self.namespaces, self.columns, strict=True)
        own = {name: tuple(c for c in columns if c < width) for name, columns in pairs}
        begun = {name: columns for name, columns in own.items() if columns}
        return replace(
            self,
            namespaces=tuple(begun),
            columns=tuple(begun.values()),
            features=self.features[:width],
            origins=self.origins[:width],
        )

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


MAX_TERMS = 1 << 16
"""Interactions that induce more features than this are refused: wide ones explode."""

Terms = tuple[NDArray[np.int32], NDArray[np.int64]]
"""The columns that are multiplied into each term, as `Layout.factors`, and its hash."""

KEPT_FEATURES = 100_000
"""Features of all layouts over one schema that are kept, the last that were asked for; each has
some times as many terms, of 30 bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Features of one configuration in the order in which VW sums them.

    A weight lives in a compact table instead of VW's ``2 ** bits`` cells; features whose hashes
    collide in VW share a cell here too, so predictions are the same.

    Attributes
    ----------
    factors : ndarray of int32, shape (n_terms, order)
        Columns that are multiplied into the term's value, padded with -1. The constant has none.
    cells : ndarray of int32, shape (n_terms,)
        Each term's place in the compact table.
    indices : ndarray of int64, shape (n_cells,)
        Each cell's place in VW's own table.
    before : ndarray of int32, shape (n_terms,)
        The last term before that has the same cell; -1 if there is none.
    by_index : ndarray of int64, shape (n_cells,)
        The cells in the order of `indices`.
    """

    factors: NDArray[np.int32]
    cells: NDArray[np.int32]
    indices: NDArray[np.int64]
    before: NDArray[np.int32]
    by_index: NDArray[np.int64]


def fits(schema: Schema, configuration: VWConfiguration) -> bool:
    """Return whether the interactions of `configuration` stay within `MAX_TERMS`."""
    return schema.dimension(configuration.interactions) - schema.n_features <= MAX_TERMS


@lru_cache(maxsize=16)  # a thousand streams have few schemas
def layouts(schema: Schema) -> Layouts:
    """Return the layouts over `schema`, which all models of equal schemas share."""
    return Layouts(schema)


class Layouts:
    """Layouts over one schema; what they have in common is computed once.

    Examples
    --------
    >>> schema = Schema(("a", "b"), ((0, 1), (2,)), ("0", "1", "2"))
    >>> layouts(schema).of(VWConfiguration((("a", "b"),))).factors.tolist()
    [[0, -1], [1, -1], [2, -1], [-1, -1], [0, 2], [1, 2]]
    """

    def __init__(self, schema: Schema) -> None:
        self._mask, self._names = schema.mask, schema.full_names
        self._hashes = np.array([*schema.indices(), CONSTANT_HASH], dtype=np.int64)  # -1 is last
        self._columns_of = dict(schema.groups())
        kept = max(16, KEPT_FEATURES // max(1, schema.n_features))
        self._unit = lru_cache(maxsize=kept)(self._products)
        self._layout = lru_cache(maxsize=kept)(self._new)

    def of(self, configuration: VWConfiguration) -> Layout:
        """Return the terms: namespaces in line order, the constant, then interactions."""
        return self._layout(configuration.interactions, configuration.namespaces)

    def _new(self, interactions: tuple[Interaction, ...], names: tuple[str, ...] | None) -> Layout:
        # The terms of namespaces, all if none are named; the constant; and interactions.
        chosen = {*(self._columns_of if names is None else names)}
        own = [(name,) for name in self._columns_of if name in chosen]
        crossed = sorted(generated(each, self._names) for each in interactions)
        blocks = [self._unit(unit) for unit in (*own, (), *(unit for _, unit in crossed))]
        order = max(factors.shape[1] for factors, _ in blocks)
        factors = np.concatenate([_padded(factors, order) for factors, _ in blocks])
        indices = np.concatenate([hashes for _, hashes in blocks])
        return Layout(factors, *_compact(indices & self._mask))

    def _products(self, unit: Interaction) -> Terms:
        """Return the factors of each product of the namespaces in `unit`, and their hashes."""
        products = list(itertools.product(*(self._columns_of[name] for name in unit)))
        if len({*unit}) < len(unit):
            products = [columns for columns in products if _is_combination(unit, columns)]
        columns = np.array(products, dtype=np.int32).reshape(len(products), len(unit))
        factors = _padded(columns, max(2, len(unit)))
        return factors, _indices(factors, self._hashes)


def _padded(factors: NDArray[np.int32], order: int) -> NDArray[np.int32]:
    """Return the factors with -1 for the columns that a term does not have, up to `order`."""
    more = ((0, 0), (0, order - factors.shape[1]))
    return factors if not more[1][1] else np.pad(factors, more, constant_values=-1)


def _indices(factors: NDArray[np.int32], hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the hash of each term."""
    found = hashes[factors[:, 0]]
    for column in factors.T[1:]:
        found = np.where(column < 0, found, cross(found, hashes[column]))
    return found


def _compact(
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return `Layout`'s arrays after the factors, of the place of each term in VW's table.

    Cells are numbered by first appearance: neighbouring terms are neighbours in memory.
    """
    known: dict[int, int] = {}
    cells = [known.setdefault(index, len(known)) for index in indices.tolist()]
    before, last = np.full(len(cells), -1, np.int32), dict[int, int]()
    for k, cell in enumerate(cells if len(known) < len(cells) else ()):
        before[k], last[cell] = last.get(cell, -1), k
    places = np.fromiter(known, np.int64, len(known))
    return np.array(cells, dtype=np.int32), places, before, np.argsort(places)


@lru_cache(maxsize=256)  # a race makes the same branches again and again
def cells_in(parent: Layout, layout: Layout) -> NDArray[np.int32]:
    """Return which cell of a parent has each term of a layout; -1 if none has it."""
    at = np.searchsorted(parent.indices, layout.indices, sorter=parent.by_index)
    found = parent.by_index.take(at, mode="clip")
    found[parent.indices[found] != layout.indices] = -1
    return found[layout.cells].astype(np.int32)


def _is_combination(interaction: Interaction, columns: tuple[int, ...]) -> bool:
    """Return whether columns of one namespace, which are neighbours in VW's order, do not fall."""
    return all(
        interaction[k - 1] != interaction[k] or columns[k - 1] <= columns[k]
        for k in range(1, len(columns))
    )
