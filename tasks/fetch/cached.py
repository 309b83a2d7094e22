"""Values that the jobs of a run share: written once, mapped into memory by each of them."""

import hashlib
import io
import mmap
import pickle
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import naming
from leaseboard.tasks.fetch.dataset import Dataset, RawTable, finish
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.fetch.references import Options

FILE = "value.bin"
_APART = 64
"""Bytes: an array begins where a vector register can load it."""


def dump(value: Any, folder: Path) -> None:
    """Write `value` into `folder`, which exists.

    The file holds the pickle and the sizes of what it does not hold: the bytes of its arrays,
    which follow, and are mapped where they are.
    """
    arrays: list[pickle.PickleBuffer] = []
    pickled = io.BytesIO()
    _Pickler(pickled, protocol=5, buffer_callback=arrays.append).dump(value)
    parts = [array.raw() for array in arrays]
    with naming(folder / FILE), (folder / FILE).open("wb") as file:
        pickle.dump((pickled.getvalue(), [part.nbytes for part in parts]), file)
        for part in parts:
            file.write(b"\0" * (-file.tell() % _APART))
            file.write(part)


def load_mapped(folder: Path) -> Any:
    """Return the value that `dump` wrote into `folder`; its arrays are mapped, and read-only.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> dump({"x": np.arange(3.0)}, folder)
    >>> load_mapped(folder)
    {'x': array([0., 1., 2.])}
    """
    with (folder / FILE).open("rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        pickled, sizes = pickle.load(file)  # noqa: S301 - our own process wrote it
        end, arrays = file.tell(), []
    for size in sizes:
        start = end + -end % _APART
        end = start + size
        arrays.append(content[start:end])
    return pickle.loads(pickled, buffers=arrays)  # noqa: S301


class _Pickler(pickle.Pickler):
    """Pickler that leaves out every array, also one that is a part of a larger one."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray and not value.flags.forc and not value.dtype.hasobject:
            return np.ascontiguousarray(value).__reduce_ex__(5)
        return NotImplemented


def receive(content: bytes, folder: Path) -> None:
    """Write the file of a value, as another machine has it, into `folder`, unless it is there."""
    if (folder / FILE).exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{FILE}.part"
    part.write_bytes(content)
    part.replace(folder / FILE)


def dump_once(make: Callable[[], Any], folder: Path) -> None:
    """Write the value that `make` returns into the new folder `folder`, unless that is there.

    The folder appears whole; of several processes that write it at the same time the first wins.
    """
    if folder.exists():
        return
    new = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        dump(make(), new)
        new.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class CachedDataset:
    """Dataset in a folder of its own."""

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
        """Return the dataset, its numbers mapped: milliseconds for any size."""
        return load_mapped(self.folder)


def cache_dataset(dataset: Dataset, place: Path) -> CachedDataset:
    """Write `dataset` into a folder of its own in `place`."""
    named = hashlib.sha256(f"{dataset.reference} {dataset.digest}".encode()).hexdigest()[:16]
    folder = place / f"table-{named}"
    dump_once(lambda: dataset, folder)
    rows, features = dataset.features.shape
    return CachedDataset(dataset.reference, dataset.digest, dataset.task, rows, features, folder)


def fetch_into(place: Path, reference: str) -> CachedDataset:
    """Load the dataset that `reference` names once, and cache it in a folder in `place`.

    Raises UsageError, DataError, DataUnavailableError as `leaseboard.tasks.fetch.loading.load`.
    """
    return cache_dataset(load(reference), place)


def hold(
    frame: pd.DataFrame,
    name: str,
    place: Path,
    *,
    target: str | None = None,
    task: str | None = None,
) -> CachedDataset:
    """Cache a table that was read elsewhere, from a database for example, under `name`.

    Raises DataError as `leaseboard.tasks.fetch.loading.load`.

    - `name`: what jobs call it: their ``data`` is ``held:NAME``.
    - `target`: the target's column; the last by default.
    - `task`, {"regression", "classification"}: by default the target's kind says it.
    """
    table = RawTable(frame, name, target, task, source="a table of the flow's own")
    return cache_dataset(finish(table, Options(), f"held:{name}"), place)
