"""Which files of a folder need not be read again, because nobody has written to them.

A file is known again by its device, its number there, its size and the moments at which it was
written to and its entry was changed. The last one is set by the system, whatever a program that
copies files says of the others. A file that was changed a moment ago may be changed again in the
same tick of a clock, so nothing is kept of it yet.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

SETTLED = 3.0
"""Seconds after its last change from which on a file is known by its stamp: FAT's tick is 2."""


def name_of(path: Path) -> str:
    """Under which the stamp of a file is kept."""
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()


def stamp_of(path: Path, now: float | None = None) -> str:
    """What changes whenever the file is written to; empty where that is too fresh, or it is gone.

    - `now`: the seconds since 1970; by default those of the clock.
    """
    try:
        found = path.stat()
    except OSError:
        return ""
    now = time.time() if now is None else now
    if max(found.st_mtime, found.st_ctime) > now - SETTLED:
        return ""
    parts = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return " ".join(map(str, parts))
