"""Rows: their batches, their identities, and their values for state and models."""

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, short
from leaseboard.algorithms.tables.dates import date_of
from leaseboard.algorithms.tables.values import ValueKind, finite_number, flag_of, is_gap, text_of
from leaseboard.tasks.live.contract import UNDECIDED, Contract
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.models.columns import Column, Values
from leaseboard.tasks.store.live_tables import StoredRow

OTHER_VALUES = "with other values"
REUSED = f"its {{id}} is that of an earlier row {OTHER_VALUES}"
TWICE = f"its {{id}} is in the batch twice, {OTHER_VALUES}"
RELABELLED = "its label has come before, and was another"


@dataclass(frozen=True)
class Batch:
    """File of rows, or of labels of earlier ones."""

    name: str
    digest: str
    """Of its content; empty where it cannot be read."""
    frame: pd.DataFrame | None = None
    """None if there is a fault."""
    fault: str = ""
    """Why it cannot be read, in one line."""


def values_in(frame: pd.DataFrame) -> list[Values]:
    """Return the rows of a table.

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
    """Return a value of a table as JSON has it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0  # no -0.0
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, bool | int) else str(value)


def to_json(values: Any) -> str:
    """Return values as short JSON; a number is read back unchanged."""
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def label_of(row: StoredRow) -> Any:
    """Return the label of a labelled row."""
    assert row.label is not None
    return json.loads(row.label)


def checksum_of(text: str) -> int:
    """Return the checksum of a text."""
    return zlib.crc32(text.encode())


def identify(frame: pd.DataFrame, data: DataSettings) -> pd.Series:
    """Return the identity of each row of a batch: its id, or else a digest of what it holds.

    Without an id a row is identified by its values without the target, which may come later, and
    by how many rows above it in the batch are the same.

    - `frame`: rows as `leaseboard.tasks.live.contract_check.check` returns them, so that a number
      is one, however a file writes it; each has its id.
    """
    if data.id is not None:
        return frame[data.id].map(text_of).astype(object)
    values = values_in(frame.drop(columns=data.target, errors="ignore"))
    digests = [
        hashlib.blake2b(to_json(row).encode(), digest_size=16).hexdigest() for row in values
    ]
    found = pd.Series(digests, frame.index, dtype=object)
    again = found.groupby(found).cumcount()
    return found.where(again == 0, found + "-" + again.astype(str))


@dataclass
class BatchRows:
    """Rows of a batch, sorted by what they bring."""

    new: list[StoredRow] = field(default_factory=list)
    """In their order; without predictions yet."""
    labelled: list[StoredRow] = field(default_factory=list)
    """Rows that came before, with the label that has come now."""
    quarantined: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    repeated: int = 0
    old: int = 0
    """Of these, rows of days that are forgotten: whether they had come before is not known."""
    early: dict[str, str] = field(default_factory=dict)
    """Labels of rows that have not come, as JSON, by identity."""
    erased: int = 0
    """Rows and labels of ids that were deleted."""

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {
            "new": len(self.new),
            "labels": len(self.labelled) + sum(row.label is not None for row in self.new),
            "repeated": self.repeated,
            "quarantined": len(self.quarantined),
            "early": len(self.early),
            "erased": self.erased,
        }


def sort_rows(
    frame: pd.DataFrame,
    ids: Sequence[str],
    known: Mapping[str, StoredRow],
    data: DataSettings,
    day: str,
    *,
    alone: bool = False,
    times: pd.Series | None = None,
    forgotten: tuple[str, str] | None = None,
    early: Mapping[str, str] | None = None,
) -> BatchRows:
    """Sort the rows of a table that conforms to the contract.

    - `ids`: the identity of each row.
    - `known`: the rows of these identities that came before.
    - `day`: the day of rows without a time.
    - `forgotten`: the first and the last day of rows whose identities are no longer known. An
      unknown row of these days counts as a repeat: it may have been learned.
    - `alone`: the table has only labels of rows that came before.
    - `times`: the local times of the rows, which give their days.
    - `early`: labels that came before their rows, as JSON, by identity.

    A row that comes again with the same values is a repeat, or brings the label that was missing.
    """
    found, seen = BatchRows(), dict(known)
    labels, days = map(plain_value, frame[data.target].tolist()), [day] * len(frame)
    if times is not None:
        days = [str(each) for each in times.dt.strftime("%Y-%m-%d").fillna(day)]
    features = values_in(frame.drop(columns=[data.target, data.id or ""], errors="ignore"))
    for identity, label, at, values in zip(ids, labels, days, features, strict=True):
        text, came = to_json(values), None if label is None else to_json(label)
        before = seen.get(identity)
        if before is None and alone:
            if came is not None:
                found.early[identity] = came
        elif before is None and forgotten is not None and forgotten[0] <= at <= forgotten[1]:
            found.repeated += 1
            found.old += 1
        elif before is None:
            came = came or (early or {}).get(identity)
            row = StoredRow(
                identity, checksum_of(text), at, text, "", came, is_labelled=came is not None
            )
            seen[identity] = row
            found.new.append(row)
        elif not alone and before.checksum != checksum_of(text):
            reason = (TWICE if before.number == 0 else REUSED).format(id=data.id or "identity")
            found.quarantined.append((identity, reason, to_json({**values, data.target: label})))
        elif came is None or (before.is_labelled and before.label in (came, None)):
            found.repeated += 1
        elif before.is_labelled:
            found.quarantined.append((identity, RELABELLED, to_json({data.target: label})))
        else:
            row = replace(before, label=came, is_labelled=True)
            seen[identity] = row
            if before.number:
                found.labelled.append(row)
            else:  # it came without its label, further up in the same table
                place = next(i for i, new in enumerate(found.new) if new.id == identity)
                found.new[place] = row
    found.labelled.sort(key=lambda row: row.number)
    return found


def features_of(
    contract: Contract, data: DataSettings, kinds: Mapping[str, ValueKind]
) -> tuple[Column, ...]:
    """Return the columns that a candidate predicts from; none of them is undecided.

    - `kinds`: those that candidates have learned, in the place of the contract's.
    """
    found = {
        name: kinds.get(name, rule.kind)
        for name, rule in contract.columns.items()
        if name not in (data.target, data.id) and rule.kind != UNDECIDED
    }
    return tuple(
        Column(name=name, kind="text" if kind == "category" else kind)
        for name, kind in found.items()
    )


def row_reader(features: Sequence[Column]) -> Callable[[Mapping[str, Any]], Values]:
    """Return what reads a row that conforms, as `leaseboard.tasks.live.contract_check.check` does.

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
                    f"{name} {short(repr(value), 60)} is not of kind {kind}, as the model has"
                    " learned it: the contract was edited since; run `leaseboard live update`"
                )
        return found

    return read


@lru_cache(maxsize=4096)
def _day_of(value: Any) -> str | None:
    """Return what the clock of a date shows, as ISO's text; None for a day that does not exist."""
    found = date_of(str(value))
    return None if found is None else found.isoformat()


_READERS: dict[ValueKind, Callable[[Any], Any]] = {
    "number": finite_number,
    "integer": finite_number,
    "flag": flag_of,
    "date": _day_of,
    "text": text_of,
    "category": text_of,
}
