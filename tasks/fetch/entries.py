"""A parquet file with what is known of it: how mirrors and the cache keep a data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import files
from leaseboard.tasks.fetch.dataset import RawTable
from leaseboard.tasks.fetch.digests import file_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogued:
    """One line of a catalogue; `sha256` is that of the bytes of the file at `path`.

    `target` and `task` may be empty: the last column, and the rule of
    `leaseboard.tasks.fetch.dataset.infer_task`.
    """

    id: str
    name: str
    task: str
    rows: int
    features: int
    target: str
    sha256: str
    licence: str
    source: str
    path: Path


def check(entry: Catalogued) -> None:
    """DataError unless the file of `entry` is there and has the catalogue's digest."""
    if not entry.path.is_file():
        raise DataError(f"{entry.path}: in the catalogue, but the file is missing: fetch it again")
    found = file_digest(entry.path)
    if found != entry.sha256:
        raise DataError(
            f"{entry.path}: sha256 {found[:12]}... is not the catalogue's "
            f"{entry.sha256[:12]}...: the file is damaged or was changed, fetch it again"
        )


def table_of(entry: Catalogued, rows: int | None = None) -> RawTable:
    """Read the file of `entry`, of which the digest is checked first."""
    check(entry)
    frame = files.read_parquet(entry.path, rows)
    return RawTable(
        frame, entry.name, entry.target or None, entry.task or None, entry.source, entry.licence
    )
