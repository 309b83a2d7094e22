"""Disk usage, free memory, damaged files, and the number of members of a zip file."""

import itertools
import os
import resource
import struct
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

DAMAGED = ".damaged-"
"""Prefix of the number in the name of a damaged file."""

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to a database."""

_GROUP = Path("/sys/fs/cgroup")
"""Where a container's limit is."""


def used(place: Path) -> int:
    """Return the bytes of a file or of all files below a folder; 0 if it does not exist.

    Links are not followed, and files that another process removes meanwhile count nothing.
    """
    if not place.is_dir():
        return _size(place)
    return sum(_size(Path(folder) / name) for folder, _, names in os.walk(place) for name in names)


def shown(count: float) -> str:
    """Return a number of bytes for people.

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


def free_memory() -> int:
    """Return the bytes of memory that are free: of the machine, the container, ``ulimit -v``."""
    import psutil

    free = [psutil.virtual_memory().available]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        free.append(limit - psutil.Process().memory_info().vms)
    with suppress(OSError, ValueError):  # no control group, or one without a limit
        most, now = (int((_GROUP / f"memory.{each}").read_text()) for each in ("max", "current"))
        lines = map(str.split, (_GROUP / "memory.stat").read_text().splitlines())
        copies = sum(int(count) for name, count in lines if name == "inactive_file")
        free.append(most - now + copies)  # of files, which make room
    return max(0, min(free))


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0


def move_away(path: Path) -> Path:
    """Rename a file that cannot be used, and a database's side files; return the new name."""
    names = (path.with_name(f"{path.name}{DAMAGED}{n}") for n in itertools.count(1))
    new = next(name for name in names if not name.exists())
    path.rename(new)
    for suffix in _SIDE_FILES:
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(new.with_name(new.name + suffix))
    return new


def remove_database(path: Path) -> None:
    """Delete a SQLite file and its side files."""
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


_END, _END_64, _LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_END_BYTES, _END_64_BYTES, _LOCATOR_BYTES, _MEMBER_BYTES = 22, 56, 20, 46


def zip_members(path: Path, most: int) -> int:
    """Return how many members the directory of a zip file lists, `most` + 1 if there are more.

    They are only counted: `zipfile` makes an object of each first, which for a file of some
    hundred megabytes takes all memory.

    Raises BadZipFile if that directory is missing, or a comment after it, which could hold
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
    """Return where the directory begins and ends, by its size, as `zipfile` does."""
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
