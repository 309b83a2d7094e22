"""Arrays in a folder: written once, then mapped into memory by all who read them.

One file holds the bytes of all arrays, one says what they are. A process that opens them reads
nothing but the second; the system brings pages of the first as they are looked at, and every
process on the machine shares them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, naming

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
