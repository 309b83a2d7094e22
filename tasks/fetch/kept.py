"""Data that were fetched once for all jobs of a run, which map the columns into memory."""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, naming
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset, RawTable, finish
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.fetch.references import Reference

BYTES = "arrays.bin"
SAID = "arrays.json"
_SEAL = "seal"
_BLOCK = 1 << 22
_APART = 64
"""Bytes: an array begins where a vector register can load it."""

Arrays = dict[str, NDArray[Any]]
Parcel = dict[str, bytes]
"""The files of a folder of arrays, by name."""


def write_arrays(
    folder: Path, arrays: Mapping[str, NDArray[Any]], said: Mapping[str, Any]
) -> None:
    """Write `arrays` and what is `said` of them into `folder`, which exists."""
    places, end = {}, 0
    with naming(folder / BYTES), (folder / BYTES).open("wb") as file:
        for name, array in arrays.items():
            file.write(b"\0" * (-end % _APART))
            end += -end % _APART
            places[name] = (array.dtype.str, array.shape, end)
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            end += array.nbytes
        file.write(b"\0")  # nothing cannot be mapped
    with naming(folder / SAID):
        text = json.dumps({"arrays": places, "said": said})
        (folder / SAID).write_text(text, encoding="utf-8")


def map_arrays(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays in `folder`, read-only, and what was said of them.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> write_arrays(folder, {"x": np.arange(3.0)}, {"unit": "rows"})
    >>> map_arrays(folder)
    ({'x': array([0., 1., 2.])}, {'unit': 'rows'})
    """
    known = json.loads((folder / SAID).read_text(encoding="utf-8"))
    with (folder / BYTES).open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays = {}
    for name, (dtype, shape, start) in known["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(content, dtype, count, start).reshape(shape)
    return arrays, known["said"]


def seal(folder: Path) -> str:
    """A digest of all that `write_arrays` wrote."""
    hasher = hashlib.blake2b(digest_size=16)
    for name in (BYTES, SAID):
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                hasher.update(block)
    return hasher.hexdigest()


def copy_arrays(folder: Path, to: Path) -> Path:
    """Copy what `write_arrays` wrote, and nothing else that lies there, into a new folder `to`."""
    to.mkdir()
    for name in (BYTES, SAID):
        shutil.copyfile(folder / name, to / name)
    return to


def parcel(folder: Path) -> Parcel:
    """What `write_arrays` wrote, to be sent to another machine."""
    files = {name: (folder / name).read_bytes() for name in (BYTES, SAID)}
    return files | {_SEAL: seal(folder).encode()}


def unpack(files: Parcel, folder: Path) -> None:
    """Write a parcel into `folder`, unless it is there.

    Raises DataError if it is not as it was sent.
    """
    if (folder / SAID).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in (BYTES, SAID):  # the latter says that all is there
        (folder / name).write_bytes(files[name])
    if seal(folder).encode() != files[_SEAL]:
        for name in (BYTES, SAID):
            (folder / name).unlink()
        raise DataError(f"{folder}: the data were damaged on the way: run the suite again")


_TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class Kept:
    """A data set in a folder."""

    reference: str
    """What was asked for."""
    digest: str
    """Of the content, see `leaseboard.tasks.fetch.dataset`."""
    task: str
    """``regression`` or ``classification``."""
    rows: int
    features: int
    folder: Path

    def open(self) -> Dataset:
        """The data set, its numbers mapped from the folder: milliseconds, whatever its size."""
        return open_dataset(self.folder)


def fetch_into(place: Path, reference: str, *, mirrors: Iterable[str | Path] = ()) -> Kept:
    """Load the data set that `reference` names, once, and keep it in a folder in `place`.

    Raises UsageError, DataError, DataUnavailableError as `leaseboard.tasks.fetch.load`.
    """
    return keep(load(reference, mirrors=mirrors), place)


def hold(
    frame: pd.DataFrame,
    name: str,
    place: Path,
    *,
    target: str | None = None,
    task: str | None = None,
) -> Kept:
    """Keep a table that somebody has read, from a database for example, under `name`.

    Raises DataError as `leaseboard.tasks.fetch.load`.

    - `name`: what jobs call it: their ``data`` is ``held:NAME``.
    - `target`: the target's column; the last by default.
    - `task`, {"regression", "classification"}: by default the target's kind says it.
    """
    reference = Reference("held", name, {})
    table = RawTable(frame, name, target, task, source="a table of the flow's own")
    try:
        return keep(finish(table, reference, str(reference)), place)
    except (TypeError, ValueError) as error:  # a cell that is a list, for example
        what = str(error).partition("\n")[0]
        raise DataError(f"{reference}: not a table of numbers, names and texts: {what}") from error


def keep(dataset: Dataset, place: Path) -> Kept:
    """Write `dataset` into a folder of its own in `place`."""
    named = hashlib.sha256(f"{dataset.reference} {dataset.digest}".encode()).hexdigest()[:16]
    folder = place / f"table-{named}"
    if not (folder / SAID).is_file():  # the same data again are there already
        _write(dataset, folder)
    rows, features = dataset.features.shape
    return Kept(dataset.reference, dataset.digest, dataset.task, rows, features, folder)


def _write(dataset: Dataset, folder: Path) -> None:
    new = Path(tempfile.mkdtemp(dir=folder.parent))
    arrays: Arrays = {}
    frame = dataset.features
    described = [
        _described(frame.iloc[:, position], f"{position}", arrays)
        for position in range(frame.shape[1])
    ]
    said = {
        "reference": dataset.reference,
        "name": dataset.name,
        "task": dataset.task,
        "digest": dataset.digest,
        "source": dataset.source,
        "licence": dataset.licence,
        "rows_available": dataset.rows_available,
        "columns": described,
        "target": _described(dataset.target, "target", arrays),
    }
    write_arrays(new, arrays, said)
    try:
        new.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        shutil.rmtree(new)  # somebody else was as quick


def open_dataset(folder: Path) -> Dataset:
    """The data set that `keep` wrote into `folder`, the same in every value and type."""
    arrays, said = map_arrays(folder)
    described = said.pop("columns")
    features = {each["name"]: _column(each, arrays) for each in described}
    target = _column(said.pop("target"), arrays)
    index = pd.RangeIndex(len(target))
    return Dataset(features=pd.DataFrame(features, index=index, copy=False), target=target, **said)


def _described(column: pd.Series, key: str, arrays: Arrays) -> dict[str, Any]:
    """What is said of a column, whose numbers are put into `arrays` under `key`."""
    about: dict[str, Any] = {"name": column.name, "key": key}
    if columns.is_nominal(column):
        arrays[key] = column.cat.codes.to_numpy()
        return about | {"categories": column.cat.categories.tolist()}
    if columns.is_text(column):
        codes, texts = pd.factorize(column)
        arrays[key] = codes
        encoded = [str(text).encode() for text in texts]
        arrays[f"{key} {_TEXTS}"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        arrays[f"{key} ends"] = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return about | {"kind": _TEXTS}
    arrays[key] = column.to_numpy()
    return about


def _column(about: dict[str, Any], arrays: Arrays) -> pd.Series:
    name, values = about["name"], arrays[about["key"]]
    if "categories" in about:
        kind = pd.CategoricalDtype(about["categories"])
        nominal = pd.Categorical.from_codes(values, dtype=kind, validate=False)
        return pd.Series(nominal, name=name, copy=False)
    if about.get("kind") == _TEXTS:
        return pd.Series(_texts(about["key"], arrays), dtype=object, name=name)
    return pd.Series(values, name=name, copy=False)


def _texts(key: str, arrays: Arrays) -> NDArray[np.object_]:
    """The values of a text column; None where one is missing."""
    content, ends = arrays[f"{key} {_TEXTS}"].tobytes(), arrays[f"{key} ends"].tolist()
    known = [content[i:j].decode() for i, j in zip([0, *ends], ends, strict=False)]
    return np.array([*known, None], dtype=object)[arrays[key]]
