"""Where files are kept from one process to the next."""

from __future__ import annotations

import os
from pathlib import Path

from leaseboard.algorithms.errors import UsageError


def cache_dir() -> Path:
    """Return the folder of compiled kernels, fetched data, and the store of trials and probes.

    ``LEASEBOARD_CACHE`` names it; otherwise it is ``leaseboard`` in the user's cache folder, and
    UsageError if the user has none.
    """
    named = os.environ.get("LEASEBOARD_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return (base.expanduser() / "leaseboard").resolve()
    except RuntimeError as error:
        raise UsageError(
            f"{base} is nowhere, because this user has no home: set LEASEBOARD_CACHE to a folder"
            " for compiled kernels and data"
        ) from error
