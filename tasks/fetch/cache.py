"""The cache of fetched and imported data: one folder a data set, which appears whole or not."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import DataError, UsageError, naming
from leaseboard.tasks.fetch import files
from leaseboard.tasks.fetch.dataset import RawTable, file_digest


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


DATA = "data.parquet"
ENTRY = "entry.json"


def section(name: str) -> Path:
    """The folder of one kind of data, such as ``openml``; it may not exist yet."""
    return cache_dir() / "data" / name


def find(kind: str, name: str) -> Catalogued | None:
    """The entry of `name` in section `kind`, None if it is not cached."""
    folder = section(kind) / name
    return read_entry(folder) if (folder / ENTRY).is_file() else None


def entries(kind: str) -> list[Catalogued]:
    """All of a section, by name."""
    return [read_entry(path.parent) for path in sorted(section(kind).glob(f"*/{ENTRY}"))]


def read_entry(folder: Path) -> Catalogued:
    """The entry that `write` left in `folder`."""
    try:
        known = json.loads((folder / ENTRY).read_text(encoding="utf-8"))
        return Catalogued(**known, path=folder / DATA)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{folder / ENTRY}: not an entry of the cache ({error}): remove the "
                        "folder and fetch again") from error  # fmt: skip


def write(folder: Path, frame: pd.DataFrame, **known: str) -> None:
    """Write `frame` and its entry into `folder`, which exists and nobody else looks at."""
    with naming(folder / DATA):
        frame.to_parquet(folder / DATA, index=False)
    entry = Catalogued(
        **{"task": "", "target": "", "licence": "", "source": "", **known},
        rows=len(frame),
        features=frame.shape[1] - 1,
        sha256=file_digest(folder / DATA),
        path=folder / DATA,
    )
    plain = {key: value for key, value in dataclasses.asdict(entry).items() if key != "path"}
    with naming(folder / ENTRY):
        (folder / ENTRY).write_text(json.dumps(plain, indent=1), encoding="utf-8")


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """A private folder beside the section's data sets, removed at the end."""
    try:
        section(kind).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=section(kind)))
    except OSError as error:
        raise UsageError(f"cache {section(kind)} cannot be written ({error.strerror}): name "
                         "another folder with LEASEBOARD_CACHE") from error  # fmt: skip
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(folder: Path, kind: str, name: str) -> Catalogued:
    """Move a written `folder` to its place; where another process was first, its stays."""
    place = section(kind) / name
    try:
        os.replace(folder, place)  # noqa: PTH105 (Path.replace says the same less plainly)
    except OSError:
        if not (place / ENTRY).is_file():
            raise
    return read_entry(place)


def replace(folder: Path, kind: str, name: str) -> Catalogued:
    """Move a written `folder` to its place, from where an earlier one is moved aside.

    The earlier one goes beside `folder` into its scratch folder, which removes it in the end.
    No reader finds half of one and half of the other.
    """
    place, aside = section(kind) / name, folder.with_name("earlier")
    if not place.exists():
        return publish(folder, kind, name)
    place.replace(aside)
    try:
        return publish(folder, kind, name)
    except OSError:
        aside.replace(place)
        raise
