"""What files use on the disk, and sizes for people."""

from __future__ import annotations

import os
from pathlib import Path


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
