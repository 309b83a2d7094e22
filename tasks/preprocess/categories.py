"""Nominal columns by the labels of their values, however a column declares its categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.online.values import label
from leaseboard.tasks.fetch import columns

Places = NDArray[np.intp]


def declared(column: pd.Series) -> list[str]:
    """The labels of all categories of a nominal column, in their order."""
    return [label(value) for value in column.cat.categories]


def present(column: pd.Series) -> list[str]:
    """The labels that occur: in declared order, or sorted where a column declares none.

    Examples
    --------
    >>> present(pd.Series(["u", None, "b"]))
    ['b', 'u']
    """
    codes, labels = coded(column)
    found = [labels[code] for code in np.unique(codes[codes >= 0])]
    return list(dict.fromkeys(found if columns.is_nominal(column) else sorted(found)))


def places(column: pd.Series, known: Sequence[str]) -> Places:
    """Where each value's label stands in `known`, shape (n_rows,); -1 if it does not.

    Examples
    --------
    >>> places(pd.Series(["u", None, "new", "b"]), ["b", "u"]).tolist()
    [1, -1, -1, 0]
    """
    codes, labels = coded(column)
    place = {label: number for number, label in enumerate(known)}
    # The last entry is that of code -1, a missing value.
    table = np.array([*(place.get(label, -1) for label in labels), -1], dtype=np.intp)
    return table[codes]


def coded(column: pd.Series) -> tuple[Places, list[str]]:
    """Return a number for each row, -1 where it is missing, and the label of each number."""
    if columns.is_nominal(column):
        return column.cat.codes.to_numpy().astype(np.intp), declared(column)
    codes, values = pd.factorize(column)  # labels are made once a value, not once a row
    return codes.astype(np.intp), [label(value) for value in values]
