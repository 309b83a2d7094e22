"""Disk usage, and SQLite files."""

import errno
import os
import sqlite3
from pathlib import Path

FULL = "the disk is full"
"""Beginning of the reason why a job that a full disk ended has no score."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to a database."""


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


def fault_of_disk(error: BaseException | None) -> str:
    """Return what to do if a full disk caused `error`, which no algorithm can help; else empty."""
    while error is not None:
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if full or (isinstance(error, OSError) and error.errno in _NO_SPACE):
            named = getattr(error, "filename", None)
            place = f" ({named})" if named else ""
            return f"{FULL}{place}: free some of it, and run the same command again"
        error = error.__cause__ or error.__context__
    return ""


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0


def remove_database(path: Path) -> None:
    """Delete a SQLite file and its side files."""
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
