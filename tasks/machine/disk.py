"""What files use on the disk, what cannot be used any more, and what a zip file lists."""

from __future__ import annotations

import itertools
import os
import struct
from itertools import count
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

DAMAGED = ".damaged-"
"""Before the number in the name of what was set aside."""

_COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, under its name with one of these."""


def used(place: Path) -> int:
    """Bytes of a file or of all files below a folder; 0 if it is not there.

    Links are not followed, and what another process removes meanwhile counts nothing.
    """
    if not place.is_dir():
        return _size(place)
    return sum(_size(Path(folder) / name) for folder, _, names in os.walk(place) for name in names)


def shown(count: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> shown(1536)
    '1.5 kB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1024:
            return f"{count:.1f} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1024
    return f"{count:.1f} TB"


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0


def set_aside(path: Path) -> Path:
    """Rename what cannot be used, and a database's companions; returns the name that is free."""
    names = (path.with_name(f"{path.name}{DAMAGED}{n}") for n in itertools.count(1))
    kept = next(name for name in names if not name.exists())
    path.rename(kept)
    for companion in _COMPANIONS:
        beside = path.with_name(path.name + companion)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + companion))
    return kept


def remove_database(path: Path) -> None:
    """Delete a SQLite file and its companions, as many as there are."""
    for companion in ("", *_COMPANIONS):
        path.with_name(path.name + companion).unlink(missing_ok=True)


_END, _END_64, _LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_END_BYTES, _END_64_BYTES, _LOCATOR_BYTES, _MEMBER_BYTES = 22, 56, 20, 46


def zip_members(path: Path, most: int) -> int:
    """How many members the directory of a zip file lists, `most` + 1 if there are more.

    None of them is held: `zipfile` makes an object of each before it can be asked, and a file of
    some hundred megabytes would take all memory.

    Raises BadZipFile if there is no such directory, or a comment after it, which could hold
    another.
    """
    with path.open("rb") as file:
        start, end = _directory(file)
        file.seek(start)
        for number in count():
            if file.tell() >= end or number > most:
                return number
            header = file.read(_MEMBER_BYTES)
            if len(header) < _MEMBER_BYTES:
                raise BadZipFile("Truncated central directory")
            file.seek(sum(struct.unpack_from("<3H", header, 28)), os.SEEK_CUR)
    raise AssertionError("it has no end")


def _directory(file: IO[bytes]) -> tuple[int, int]:
    """Where the directory begins and ends; `zipfile` goes by its size, and so does this."""
    length = file.seek(0, os.SEEK_END)
    at = length - _END_BYTES
    if at < 0 or not (end := _read(file, at, _END_BYTES)).startswith(_END) or end[-2:] != b"\0\0":
        raise BadZipFile("File is not a zip file")
    (size,) = struct.unpack_from("<L", end, 12)
    before = at - _LOCATOR_BYTES - _END_64_BYTES
    locator = _read(file, before + _END_64_BYTES, _LOCATOR_BYTES) if before >= 0 else b""
    if locator.startswith(_LOCATOR):
        end, (place,) = _read(file, before, _END_64_BYTES), struct.unpack_from("<Q", locator, 8)
        if place != before or not end.startswith(_END_64):
            raise BadZipFile("Corrupt zip64 end of central directory record")
        at, (size,) = before, struct.unpack_from("<Q", end, 40)
    if size > at:
        raise BadZipFile("Bad offset for central directory")
    return at - size, at


def _read(file: IO[bytes], at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)
