"""Where files are kept from one process to the next."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from leaseboard.algorithms.errors import UsageError


def cache_dir() -> Path:
    """Return the folder of compiled kernels, fetched data, and the store of trials and probes.

    ``LEASEBOARD_CACHE`` names it; otherwise it is ``leaseboard`` in the user's cache folder, or,
    of a user without a home, a private folder next to temporary files.
    """
    named = os.environ.get("LEASEBOARD_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(RuntimeError):
        return (base.expanduser() / "leaseboard").resolve()
    place = Path(tempfile.gettempdir()) / f"leaseboard-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    if place.is_symlink() or place.stat().st_uid != os.getuid():
        raise UsageError(f"{str(place)!r} is of another user: set LEASEBOARD_CACHE to a folder")
    return place.resolve()
