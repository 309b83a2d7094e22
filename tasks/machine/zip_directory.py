"""How many members a zip file has, counted without holding any of them.

`zipfile` makes an object of each before it can be asked, and believes no count: a file of some
hundred megabytes would take all memory.
"""

from __future__ import annotations

import os
import struct
from itertools import count
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

_END, _END_64, _LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_END_BYTES, _END_64_BYTES, _LOCATOR_BYTES, _MEMBER_BYTES = 22, 56, 20, 46


def members(path: Path, most: int) -> int:
    """How many members the directory of a zip file lists, `most` + 1 if there are more.

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
