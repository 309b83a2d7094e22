"""What files use on the disk, sizes for people, and what cannot be used any more."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

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
