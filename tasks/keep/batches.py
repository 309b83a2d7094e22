"""Batches: what a source has that was not taken in before."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.models.plain_columns import text_of

_MISSING = np.float64(np.nan).view(np.uint64)


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


class Ingested(Protocol):
    """What was taken in already, as a keep's state knows it."""

    def knows(self, digest: str) -> bool:
        """Whether the batch of this content was."""

    def watermark(self) -> str | None:
        """That of the last batch which had one."""

    def stamps(self) -> Mapping[str, str]:
        """What was kept of files that are known, see `leaseboard.tasks.keep.stamps`."""

    def keep_stamps(self, new: Mapping[str, str], gone: Collection[str]) -> None:
        """Keep these, and let go of others."""


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
