"""Rows as callers send them, read to what a keep takes in of such rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, short
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.keep.content import Values
from leaseboard.tasks.keep.contract import Contract, ValueKind
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.keep.values import flag_of, is_missing, number_of
from leaseboard.tasks.models.columns import Column, typed
from leaseboard.tasks.models.plain_columns import text_of

_KINDS: dict[str, Any] = {
    "number": {"kind": "real", "dtype": "float64"},
    "integer": {"kind": "integer"},
    "flag": {"kind": "boolean"},
    "date": {"kind": "date"},
    "text": {"kind": "text"},
    "category": {"kind": "text"},
}


def features_of(contract: Contract, data: DataSettings) -> tuple[Column, ...]:
    """The columns that a model of the keep forecasts from."""
    return tuple(
        Column(name=name, **_KINDS[rule.kind])
        for name, rule in contract.columns.items()
        if name not in (data.target, data.id)
    )


def row_reader(features: Sequence[Column]) -> Callable[[Mapping[str, Any]], Values]:
    """What reads a row that keeps the contract as `leaseboard.tasks.keep.conform.check` reads a
    batch's.

    A feature that the row does not have is missing. DataError for a value of another kind than the
    feature had when `features` were those of the contract.
    """
    readers = [(each.name, each.kind, _READERS[each.kind]) for each in features]

    def read(row: Mapping[str, Any]) -> Values:
        found: Values = {}
        for name, kind, reader in readers:
            value = row.get(name)
            if is_missing(value):
                found[name] = None
                continue
            known = found[name] = reader(value)
            if is_missing(known):
                raise DataError(
                    f"{name} {short(repr(value), 60)} is no {kind}, as the model has learned it:"
                    " the contract was edited since; take a turn with `leaseboard keep`"
                )
        return found

    return read


def reader_of(kind: ValueKind) -> Callable[[Any], Any]:
    """What reads a value that keeps the rule of a column of this kind, and is not missing."""
    return _READERS[_KINDS[kind]["kind"]]


def as_sent(rows: Sequence[Values], features: Sequence[Column]) -> pd.DataFrame:
    """Rows of the state as callers send them."""
    found = {}
    for each in features:
        values = [row.get(each.name) for row in rows]
        if each.kind == "boolean":
            values = [None if value is None else bool(value) for value in values]
        found[each.name] = values
    return typed(pd.DataFrame(found), features)


@lru_cache(maxsize=4096)
def _day_of(value: Any) -> str | None:
    """What the clock of a date shows, as ISO's text; None of a day that there is not."""
    (found,) = columns.iso_dates([value])
    return None if np.isnat(found) else found.item().isoformat()


_READERS: dict[str, Callable[[Any], Any]] = {
    "real": number_of,
    "integer": number_of,
    "boolean": flag_of,
    "date": _day_of,
    "text": text_of,
}
