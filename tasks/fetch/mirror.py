"""Mirrors: read-only folders with a ``catalogue.csv`` and one parquet file a data set."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from leaseboard.algorithms.errors import DataError, DataUnavailableError, unknown
from leaseboard.tasks.fetch.cache import Catalogued, table_of
from leaseboard.tasks.fetch.dataset import RawTable

CATALOGUE = "catalogue.csv"
_COLUMNS = ("id", "name", "task", "rows", "features", "target", "sha256", "licence")
_MEND = "name one with --mirror FOLDER or LEASEBOARD_MIRROR"


def catalogue(folder: Path) -> dict[str, Catalogued]:
    """The data sets of a mirror by id, in the catalogue's order."""
    with (folder / CATALOGUE).open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        missing = set(_COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise DataError(f"{folder / CATALOGUE}: column {min(missing)!r} is missing")
        return {entry.id: entry for entry in (_entry(folder, row) for row in reader)}


def entries(mirrors: Iterable[Path]) -> Iterator[Catalogued]:
    """Every data set of every mirror; the first mirror that has an id is the one that serves."""
    seen: set[str] = set()
    for folder in mirrors:
        for entry in catalogue(folder).values():
            if entry.id not in seen:
                seen.add(entry.id)
                yield entry


def find(name: str, mirrors: Iterable[Path]) -> Catalogued | None:
    """The entry of id `name` in the first mirror that has it."""
    return next((entry for entry in entries(mirrors) if entry.id == name), None)


def read(name: str, mirrors: tuple[Path, ...], rows: int | None = None) -> RawTable:
    """The data set `name` of `mirrors`; DataUnavailableError where none has it."""
    entry = find(name, mirrors)
    if entry is None and not mirrors:
        raise DataUnavailableError(f"mirror:{name} is not available: no mirror is set, {_MEND}")
    if entry is None:
        hint = unknown("data set of the mirror", name, [e.id for e in entries(mirrors)])
        raise DataUnavailableError(f"mirror:{name} is not available: {hint}")
    return table_of(entry, rows)


def _entry(folder: Path, row: Mapping[str, str]) -> Catalogued:
    name = row["id"]
    if not name or Path(name).name != name:
        raise DataError(f"{folder / CATALOGUE}: id {name!r} must be a plain file name")
    # "regression (threshold delay for classification)": the first word is the task.
    task = (row["task"].split() or [""])[0]
    try:
        rows, features = int(row["rows"]), int(row["features"])
    except ValueError as error:
        raise DataError(f"{folder / CATALOGUE}: {name}: {error}") from error
    return Catalogued(
        id=name,
        name=row["name"],
        task=task,
        rows=rows,
        features=features,
        target=row["target"],
        sha256=row["sha256"],
        licence=row["licence"],
        source=row.get("source") or "",
        path=folder / f"{name}.parquet",
    )
