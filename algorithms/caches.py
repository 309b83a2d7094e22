"""Where files are kept from one process to the next."""

from __future__ import annotations

import os
from pathlib import Path

from leaseboard.algorithms.errors import UsageError


def cache_dir() -> Path:
    """Return the folder of compiled kernels, fetched data, and the store of trials and probes.

    ``LEASEBOARD_CACHE`` names it; otherwise it is ``leaseboard`` in the user's cache folder.
    """
    place = os.environ.get("LEASEBOARD_CACHE")
    place = place or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/leaseboard"
    try:
        return Path(place).expanduser().resolve()
    except RuntimeError as error:
        raise UsageError("this user has no home: set LEASEBOARD_CACHE to a folder") from error
