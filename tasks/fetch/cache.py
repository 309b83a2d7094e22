"""Files with a known digest: the cache of fetched data, and mirrors.

The cache has one folder for each dataset, which appears whole or not at all. A mirror is a
read-only folder with a ``catalogue.csv`` and one parquet file for each dataset.
"""

import csv
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import DataError, UsageError, naming
from leaseboard.tasks.fetch import files
from leaseboard.tasks.fetch.dataset import RawTable, file_digest

DATA = "data.parquet"
ENTRY = "entry.json"
CATALOGUE = "catalogue.csv"
_COLUMNS = ("id", "name", "task", "rows", "features", "target", "sha256", "licence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogued:
    """Entry of a catalogue; `sha256` is that of the bytes of the file at `path`.

    `target` and `task` may be empty: then the target is the last column, and
    `leaseboard.tasks.fetch.dataset.infer_task` names the task.
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
    """Raise DataError unless the file of `entry` is there and has the catalogue's digest."""
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


def section(name: str) -> Path:
    """Return the folder of one kind of data, such as ``openml``; it may not exist yet."""
    return cache_dir() / "data" / name


def find(kind: str, name: str) -> Catalogued | None:
    """Return the entry of `name` in section `kind`, None if it is not cached."""
    folder = section(kind) / name
    return read_entry(folder) if (folder / ENTRY).is_file() else None


def entries(kind: str) -> list[Catalogued]:
    """Return all entries of a section, by name."""
    return [read_entry(path.parent) for path in sorted(section(kind).glob(f"*/{ENTRY}"))]


def read_entry(folder: Path) -> Catalogued:
    """Return the entry that `write` wrote into `folder`."""
    try:
        known = json.loads((folder / ENTRY).read_text(encoding="utf-8"))
        return Catalogued(**known, path=folder / DATA)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{folder / ENTRY}: not an entry of the cache ({error}): remove the "
                        "folder and fetch again") from error  # fmt: skip


def write(folder: Path, frame: pd.DataFrame, **known: str) -> None:
    """Write `frame` and its entry into `folder`, which exists and no one else reads."""
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
    """Yield a private folder next to the section's datasets, removed at the end."""
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
    """Move a written `folder`, which `scratch` holds, to its place.

    An entry that is there already stays.
    """
    place = section(kind) / name
    try:
        os.replace(folder, place)  # noqa: PTH105 (Path.replace says the same less plainly)
    except OSError:
        if not (place / ENTRY).is_file():  # no other process was first
            raise
    return read_entry(place)


def mirrored(mirrors: Iterable[Path]) -> dict[str, Catalogued]:
    """Return every dataset of the mirrors by id, in order; the first mirror that has one counts.

    Raises DataError for a catalogue that cannot be read.
    """
    found: dict[str, Catalogued] = {}
    for folder in mirrors:
        place = folder / CATALOGUE
        with place.open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            if missing := set(_COLUMNS) - set(reader.fieldnames or ()):
                raise DataError(f"{place}: column {min(missing)!r} is missing")
            for row in reader:
                name = row["id"]
                if not name or Path(name).name != name:
                    raise DataError(f"{place}: id {name!r} must be a plain file name")
                try:
                    sizes = {"rows": int(row["rows"]), "features": int(row["features"])}
                except ValueError as error:
                    raise DataError(f"{place}: {name}: {error}") from error
                texts = {key: row[key] for key in ("id", "name", "target", "sha256", "licence")}
                # "regression (threshold delay for classification)": the first word is the task.
                texts["task"] = (row["task"].split() or [""])[0]
                path, source = folder / f"{name}.parquet", row.get("source") or ""
                found.setdefault(name, Catalogued(**texts, **sizes, path=path, source=source))
    return found
