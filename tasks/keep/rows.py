"""Rows: batches of them, what tells them apart, and what they hold for state and models."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, short
from leaseboard.algorithms.tables.values import finite_number, flag_of, is_gap, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.keep.contract import Contract, ValueKind
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.models.columns import Column, typed
from leaseboard.tasks.store.live_tables import KeptRow

Values = dict[str, Any]
"""A row's features by name: numbers, flags, texts, None for a missing one; dates as ISO texts."""


OTHER_VALUES = "with other values"
REUSED = f"its {{id}} is that of an earlier row {OTHER_VALUES}"
TWICE = f"its {{id}} stands in the batch twice, {OTHER_VALUES}"
RELABELLED = "its label has come before, and was another"
UNKNOWN = "a label for a row that never came"


_MISSING = np.float64(np.nan).view(np.uint64)


_KINDS: dict[str, Any] = {
    "number": {"kind": "real", "dtype": "float64"},
    "integer": {"kind": "integer"},
    "flag": {"kind": "boolean"},
    "date": {"kind": "date"},
    "text": {"kind": "text"},
    "category": {"kind": "text"},
}


@dataclass(frozen=True)
class Batch:
    """A file, or a piece of what a query gives."""

    name: str
    digest: str
    """Of its content; empty where there is none to be read."""
    frame: pd.DataFrame | None = None
    """None if there is a fault."""
    fault: str = ""
    """Why it cannot be read, in one line."""
    watermark: str | None = None
    """Of a query: where the next turn begins, once this batch is taken in."""
    posted: tuple[int, ...] = ()
    """Of labels that were posted: their numbers."""


def values_in(frame: pd.DataFrame) -> list[Values]:
    """The rows of a table.

    Examples
    --------
    >>> values_in(pd.DataFrame({"a": [1.5, np.nan], "day": pd.to_datetime(["2026-01-02", None])}))
    [{'a': 1.5, 'day': '2026-01-02T00:00:00'}, {'a': None, 'day': None}]
    """
    names = [str(name) for name in frame]
    columns = [[plain_value(value) for value in frame[name].tolist()] for name in frame]
    if not columns:
        return [{} for _ in range(len(frame))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_value(value: Any) -> Any:
    """A value of a table as JSON has it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, bool | int) else str(value)


def frame_of(rows: Sequence[Mapping[str, Any]], dates: Iterable[str] = ()) -> pd.DataFrame:
    """The table of rows; columns among `dates` hold dates."""
    frame = pd.DataFrame.from_records(list(rows)).infer_objects()
    for name in dates:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601")
    return frame


def packed(values: Any) -> str:
    """As short JSON; a number comes back as the very same."""
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def seal_of(text: str) -> int:
    """The sum of its bytes."""
    return zlib.crc32(text.encode())


def identify(frame: pd.DataFrame, data: DataSettings) -> pd.Series:
    """What tells each row of a batch apart from all others: its id, or else what it holds.

    Without an id a row is known by its values beside the target, which may come later, and by how
    many rows above it in the batch are the same.

    - `frame`: rows as `leaseboard.tasks.keep.conform.check` gives them, so that a number is one,
      however a file writes it.

    Raises DataError if a row has no id.
    """
    if data.id is not None:
        missing = np.flatnonzero(frame[data.id].isna())
        if len(missing):
            row = frame.index[missing[0]] + 1
            raise DataError(
                f"row {row} has no {data.id}, by which rows are told apart: fill it, or set"
                f" missing: 0 for {data.id} in the contract to have such rows set aside"
            )
        return frame[data.id].map(text_of).astype(object)
    names = sorted(str(name) for name in frame if name != data.target)
    cells = [_cells(frame[name]) for name in names]
    table = np.stack(cells, axis=1) if cells else np.zeros((len(frame), 0), np.uint64)
    begun = hashlib.blake2b("\n".join(names).encode(), digest_size=16)
    seals = []
    for row in np.ascontiguousarray(table):
        hasher = begun.copy()
        hasher.update(row.tobytes())
        seals.append(hasher.hexdigest())
    found = pd.Series(seals, frame.index, dtype=object)
    again = found.groupby(found).cumcount()
    return found.where(again == 0, found + "-" + again.astype(str))


def _cells(column: pd.Series) -> NDArray[np.uint64]:
    """A column's values, each as 64 bits."""
    missing = column.isna().to_numpy()
    if columns.is_date(column):
        cells = columns.as_dates(column).to_numpy().view(np.uint64)
    elif columns.is_number(column) or pd.api.types.is_bool_dtype(column.dtype):
        cells = (column.to_numpy(np.float64, na_value=np.nan) + 0.0).view(np.uint64)  # no -0.0
    else:
        codes, words = pd.factorize(column)
        seals = [hashlib.blake2b(text_of(word).encode(), digest_size=8).digest() for word in words]
        known = [struct.unpack("<Q", seal)[0] for seal in seals]
        cells = np.array([*known, _MISSING], np.uint64)[codes]
    return np.where(missing, _MISSING, cells)


@dataclass
class SortedRows:
    """What a batch brings."""

    new: list[KeptRow] = field(default_factory=list)
    """In their order; without forecasts yet."""
    labelled: list[KeptRow] = field(default_factory=list)
    """Rows that came before, with the label that has come now."""
    aside: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    early: list[tuple[str, str]] = field(default_factory=list)
    """Labels whose row may come later: its identity, and the label as JSON."""
    repeated: int = 0
    old: int = 0
    """Of these, rows of days that are forgotten: nobody knows whether they had come before."""

    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {
            "new": len(self.new),
            "labels": len(self.labelled) + sum(row.label is not None for row in self.new),
            "repeated": self.repeated,
            "aside": len(self.aside),
        } | ({"early": len(self.early)} if self.early else {})

    def may_wait(self) -> list[tuple[str, str]]:
        """Have the labels of rows that never came wait for these, and return them."""
        aside, self.aside = self.aside, []
        for identity, reason, row in aside:
            (label, *_) = json.loads(row).values()
            if reason == UNKNOWN and label is not None:
                self.early.append((identity, packed(label)))
            else:
                self.aside.append((identity, reason, row))
        return self.early


def is_labels_alone(frame: pd.DataFrame, data: DataSettings) -> bool:
    """Whether a table brings only labels of rows that came before."""
    return data.id is not None and set(map(str, frame)) == {data.id, data.target}


def sort_rows(
    frame: pd.DataFrame,
    ids: Sequence[str],
    known: Mapping[str, KeptRow],
    data: DataSettings,
    day: str,
    forgotten: tuple[str, str] | None = None,
    times: pd.Series | None = None,
) -> SortedRows:
    """Sort the rows of a table that keeps the contract.

    - `ids`: the identity of each row.
    - `known`: the rows of these identities that were taken in before.
    - `day`: of rows without a time of their own.
    - `forgotten`: the first and the last day of rows whose identities are known no more. A row of
      these days that is not known counts as a repeat: it may have been learned.

    - `times`: of the rows, as the clock that days are of shows them; None: as the table does.

    A row that comes again is a repeat, if it says nothing else than before; it may bring the label
    that it did not have.
    """
    taken, seen = SortedRows(), dict(known)
    alone = is_labels_alone(frame, data)
    labels = [None] * len(frame)
    if data.target in frame:
        labels = [plain_value(value) for value in frame[data.target].tolist()]
    if times is None and data.time in frame:
        times = pd.to_datetime(frame[data.time], format="ISO8601", utc=True)
    days = [day] * len(frame)
    if times is not None:
        days = [str(each) for each in times.dt.strftime("%Y-%m-%d").fillna(day)]
    features = values_in(frame.drop(columns=[data.target, data.id or ""], errors="ignore"))
    for identity, label, at, values in zip(ids, labels, days, features, strict=True):
        text, told = packed(values), None if label is None else packed(label)
        before = seen.get(identity)
        if before is None and alone:
            taken.aside.append((identity, UNKNOWN, packed({data.target: label})))
        elif before is None and forgotten is not None and forgotten[0] <= at <= forgotten[1]:
            taken.repeated += 1
            taken.old += 1
        elif before is None:
            row = KeptRow(identity, seal_of(text), at, text, "", told, is_settled=told is not None)
            seen[identity] = row
            taken.new.append(row)
        elif not alone and before.seal != seal_of(text):
            reason = (TWICE if before.number == 0 else REUSED).format(id=data.id or "identity")
            taken.aside.append((identity, reason, packed({**values, data.target: label})))
        elif told is None or (before.is_settled and before.label in (told, None)):
            taken.repeated += 1
        elif before.is_settled:
            taken.aside.append((identity, RELABELLED, packed({data.target: label})))
        else:
            row = replace(before, label=told, is_settled=True)
            seen[identity] = row
            if before.number:
                taken.labelled.append(row)
            else:  # it came without its label, further up in the same table
                place = next(i for i, new in enumerate(taken.new) if new.id == identity)
                taken.new[place] = row
    taken.labelled.sort(key=lambda row: row.number)
    return taken


def label_of(row: KeptRow) -> Any:
    """The label of a settled row."""
    assert row.label is not None
    return json.loads(row.label)


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
            if is_gap(value):
                found[name] = None
                continue
            known = found[name] = reader(value)
            if is_gap(known):
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
    "real": finite_number,
    "integer": finite_number,
    "boolean": flag_of,
    "date": _day_of,
    "text": text_of,
}
