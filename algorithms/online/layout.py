"""From a configuration to the static list of terms that the kernel walks."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import UsageError
from algorithms.online.configuration import Interaction, VWConfiguration, interaction_text
from algorithms.online.hashing import CONSTANT_HASH, cross
from algorithms.online.schema import Schema

MAX_TERMS = 1 << 16
"""Interactions that induce more features than this are refused: wide ones explode."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Layout:
    """The features of one configuration in the order in which VW sums them.

    A weight lives in a compact table instead of VW's ``2 ** bits`` cells; features whose hashes
    collide in VW share a cell here too, so predictions are the same.

    Attributes
    ----------
    factors : ndarray of int32, shape (n_terms, order)
        Columns that are multiplied into the term's value, padded with -1. The constant has none.
    cells : ndarray of int32, shape (n_terms,) or (n_classes, n_terms)
        Each term's place in the compact table.
    indices : ndarray of int64, shape (n_cells,)
        Each cell's place in VW's own table.
    order : ndarray of int64, shape (n_cells,)
        The cells by their place in VW's table.
    """

    factors: NDArray[np.int32]
    cells: NDArray[np.int32]
    indices: NDArray[np.int64]
    order: NDArray[np.int64]

    def shared_with(self, other: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells here and in `other` that have the same place in VW's table."""
        at = np.searchsorted(self.indices, other.indices, sorter=self.order)
        nearest = self.order[np.minimum(at, len(self.order) - 1)]
        shared = np.flatnonzero(self.indices[nearest] == other.indices)
        return nearest[shared], shared


_KNOWN: WeakValueDictionary[Hashable, Layout] = WeakValueDictionary()
"""Those that some model has: the models of many streams of one schema share them."""


def fits(schema: Schema, configuration: VWConfiguration) -> bool:
    """Whether the interactions of `configuration` keep within `MAX_TERMS`."""
    induced = schema.dimension(configuration.interactions) - schema.n_features
    return induced <= MAX_TERMS


def lay_out(schema: Schema, configuration: VWConfiguration) -> Layout:
    """The terms of `configuration`: namespaces in line order, the constant, then interactions."""
    key = schema, configuration.interactions, configuration.namespaces
    known = _KNOWN.get(key)
    if known is None:
        factors = _factors(schema, configuration)
        known = Layout(factors, *_compact(_indices(factors, _hashes(schema)) & schema.mask))
        _KNOWN[key] = known
    return known


def lay_out_classes(schema: Schema, configuration: VWConfiguration, n_classes: int) -> Layout:
    """The same terms with a weight of each class, as VW lays out its ``--oaa`` in one table.

    `Layout.cells` have shape (n_classes, n_terms). The classes of a term are neighbours in VW's
    table, which is no larger for them: theirs may collide with those of other terms.
    """
    factors = _factors(schema, configuration)
    room = 1 << (n_classes - 1).bit_length()  # VW shifts hashes: the next power of 2
    first = _indices(factors, room * _hashes(schema))
    return Layout(factors, *_compact((first + np.arange(n_classes)[:, None]) & schema.mask))


def _factors(schema: Schema, configuration: VWConfiguration) -> NDArray[np.int32]:
    """See `Layout`."""
    if not fits(schema, configuration):
        names = ", ".join(interaction_text(i) for i in configuration.interactions)
        raise UsageError(
            f"interactions {names} induce {schema.dimension(configuration.interactions)}"
            f" features, more than {MAX_TERMS}:"
            " use smaller namespaces or a lower order"
        )
    columns_of = dict(zip(schema.namespaces, schema.columns, strict=True))
    terms: list[tuple[int, ...]] = [
        (column,)
        for name, columns in schema.groups()
        if configuration.namespaces is None or name in configuration.namespaces
        for column in columns
    ]
    terms.append(())
    for interaction in schema.ordered(configuration.interactions):
        products = itertools.product(*(columns_of[name] for name in interaction))
        if len({*interaction}) < len(interaction):
            terms += (columns for columns in products if _is_combination(interaction, columns))
        else:
            terms += products

    order = max(2, *map(len, terms))
    padding = (-1,) * order
    return np.array([(*term, *padding[len(term) :]) for term in terms], dtype=np.int32)


def _hashes(schema: Schema) -> NDArray[np.int64]:
    """The hash of each column, and of the constant, which column -1 finds."""
    return np.array([*schema.indices(), CONSTANT_HASH], dtype=np.int64)


def _indices(factors: NDArray[np.int32], hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The hash of each term."""
    found = hashes[factors[:, 0]]
    for column in factors.T[1:]:
        found = np.where(column < 0, found, cross(found, hashes[column]))
    return found


def _compact(
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """`Layout`'s cells, indices and order, of the place of each term in VW's table.

    Cells are numbered by first appearance: neighbouring terms are neighbours in memory.
    """
    places, first, at = np.unique(indices, return_index=True, return_inverse=True)
    order_of_cells = np.argsort(first)
    rank = np.argsort(order_of_cells)
    cells = rank[at].astype(np.int32).reshape(indices.shape)
    return cells, places[order_of_cells], rank


def _is_combination(interaction: Interaction, columns: tuple[int, ...]) -> bool:
    """Whether columns of one namespace, which are neighbours in VW's order, do not fall."""
    return all(
        interaction[k - 1] != interaction[k] or columns[k - 1] <= columns[k]
        for k in range(1, len(columns))
    )
