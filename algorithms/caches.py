"""Where files are kept from one process to the next: the cache, and compiled kernels in it."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from leaseboard.algorithms.errors import UsageError


def cache_dir() -> Path:
    """The folder of compiled kernels, of fetched data, and of the store of trials and probes.

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


def kernel_cache() -> Path:
    """The folder of compiled kernels: another one whenever the code of any kernel changes.

    Left alone, numba compares the file of a compiled function only, not the files of the
    functions that it calls, and would run old machine code after an update.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).resolve().parent.rglob("*.py")):
        code = source.read_bytes()
        if b"numba" in code:  # or what compiled code is made of, such as an intrinsic
            digest.update(code)
    return cache_dir() / "kernels" / digest.hexdigest()[:16]


def keep_kernels_apart() -> None:
    """Have numba use `kernel_cache`, unless the user has named another folder.

    One that an earlier process of ours has named is not the user's: code may have changed since.
    """
    given, own = os.environ.get("NUMBA_CACHE_DIR"), kernel_cache()
    if given and Path(given).parent != own.parent:
        return
    os.environ["NUMBA_CACHE_DIR"] = str(own)
    if "numba" in sys.modules:  # which has read the variable
        sys.modules["numba"].config.CACHE_DIR = str(own)
