"""From a configuration to the static list of terms that the kernel walks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import UsageError
from algorithms.online.configuration import VWConfiguration, interaction_text
from algorithms.online.hashing import CONSTANT_HASH, cross
from algorithms.online.schema import Schema

MAX_TERMS = 1 << 16
"""Interactions that induce more features than this are refused: wide ones explode."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The features of one configuration in the order in which VW sums them.

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


def fits(schema: Schema, configuration: VWConfiguration) -> bool:
    """Whether the interactions of `configuration` keep within `MAX_TERMS`."""
    induced = schema.dimension(configuration.interactions) - schema.n_features
    return induced <= MAX_TERMS


def lay_out(schema: Schema, configuration: VWConfiguration) -> Layout:
    """The terms of `configuration`: namespaces in line order, the constant, then interactions."""
    if not fits(schema, configuration):
        names = ", ".join(interaction_text(i) for i in configuration.interactions)
        raise UsageError(
            f"interactions {names} induce {schema.dimension(configuration.interactions)}"
            f" features, more than {MAX_TERMS}:"
            " use smaller namespaces or a lower order"
        )
    hashes = schema.indices()
    terms: list[tuple[int, ...]] = [
        (column,)
        for name, columns in schema.groups()
        if configuration.namespaces is None or name in configuration.namespaces
        for column in columns
    ]
    indices = [hashes[column] for (column,) in terms]
    terms.append(())
    indices.append(CONSTANT_HASH & schema.mask)
    for interaction in schema.ordered(configuration.interactions):
        groups = [schema.columns[schema.namespace(name)] for name in interaction]
        for columns in itertools.product(*groups):
            terms.append(columns)
            indices.append(cross(tuple(hashes[c] for c in columns), schema.mask))

    order = max(2, *(len(term) for term in terms))
    factors = np.full((len(terms), order), -1, dtype=np.int32)
    for row, term in zip(factors, terms, strict=True):
        row[: len(term)] = term
    # Cells are numbered by first appearance: neighbouring terms are neighbours in memory.
    cell_of = {index: cell for cell, index in enumerate(dict.fromkeys(indices))}
    places = np.array(list(cell_of), dtype=np.int64)
    return Layout(
        factors=factors,
        cells=np.array([cell_of[index] for index in indices], dtype=np.int32),
        indices=places,
        order=np.argsort(places),
    )
