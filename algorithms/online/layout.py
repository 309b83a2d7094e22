"""From a configuration to the static list of terms that the kernel walks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.schema import (
    CONSTANT_HASH,
    Interaction,
    Schema,
    VWConfiguration,
    cross,
    generated,
    interaction_text,
    n_products,
)

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
    """

    factors: NDArray[np.int32]
    cells: NDArray[np.int32]
    indices: NDArray[np.int64]
    before: NDArray[np.int32]


def fits(schema: Schema, configuration: VWConfiguration) -> bool:
    """Return whether the interactions of `configuration` stay within `MAX_TERMS`."""
    return layouts(schema).fit(configuration.interactions)


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
        self.schema, self._names = schema, schema.full_names
        self._hashes = np.array([*schema.indices(), CONSTANT_HASH], dtype=np.int64)  # -1 is last
        self._columns_of = dict(schema.groups())
        self._sizes = {name: len(columns) for name, columns in self._columns_of.items()}
        kept = max(16, KEPT_FEATURES // max(1, schema.n_features))
        self._unit = lru_cache(maxsize=kept)(self._products)
        self._layout = lru_cache(maxsize=kept)(self._new)

    def of(self, configuration: VWConfiguration) -> Layout:
        """Return the terms: namespaces in line order, the constant, then interactions."""
        return self._layout(configuration.interactions, configuration.namespaces)

    def fit(self, interactions: Sequence[Interaction]) -> bool:
        """Return whether they induce no more than `MAX_TERMS`."""
        return sum(n_products(each, self._sizes) for each in interactions) <= MAX_TERMS

    def _new(self, interactions: tuple[Interaction, ...], names: tuple[str, ...] | None) -> Layout:
        if not self.fit(interactions):
            texts = ", ".join(map(interaction_text, interactions))
            raise UsageError(
                f"interactions {texts} induce {self.schema.dimension(interactions)}"
                f" features, more than {MAX_TERMS}:"
                " use smaller namespaces or a lower order"
            )
        # The terms of namespaces, all if none are named; the constant; and interactions.
        chosen = {*(self._columns_of if names is None else names)}
        own = [(name,) for name in self._columns_of if name in chosen]
        crossed = sorted(generated(each, self._names) for each in interactions)
        blocks = [self._unit(unit) for unit in (*own, (), *(unit for _, unit in crossed))]
        order = max(factors.shape[1] for factors, _ in blocks)
        factors = np.concatenate([_padded(factors, order) for factors, _ in blocks])
        indices = np.concatenate([hashes for _, hashes in blocks])
        return Layout(factors, *_compact(indices & self.schema.mask))

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
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return `Layout`'s cells, indices and before, of the place of each term in VW's table.

    Cells are numbered by first appearance: neighbouring terms are neighbours in memory.
    """
    places, first, at = np.unique(indices, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    before, by_place = np.full(len(indices), -1, np.int32), np.argsort(at, kind="stable")
    again = np.flatnonzero(np.diff(at[by_place]) == 0)
    before[by_place[again + 1]] = by_place[again]
    return rank[at].astype(np.int32), places[np.argsort(first)], before


@lru_cache(maxsize=256)  # a race makes the same branches again and again
def cells_in(parent: Layout, layout: Layout) -> NDArray[np.int32]:
    """Return which cell of a parent has each term of a layout; -1 if none has it."""
    by_index = np.argsort(parent.indices)
    at = np.searchsorted(parent.indices, layout.indices, sorter=by_index)
    found = by_index[np.minimum(at, len(by_index) - 1)]
    found[parent.indices[found] != layout.indices] = -1
    return found[layout.cells].astype(np.int32)


def _is_combination(interaction: Interaction, columns: tuple[int, ...]) -> bool:
    """Return whether columns of one namespace, which are neighbours in VW's order, do not fall."""
    return all(
        interaction[k - 1] != interaction[k] or columns[k - 1] <= columns[k]
        for k in range(1, len(columns))
    )
