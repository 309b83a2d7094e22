"""Importing what users write beside the package: ``path/to/file.py:Class``."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from algorithms.errors import UsageError

executed: set[Path] = set()
"""The files that this process has run, also those that failed: they may have changed anything."""

_REFERENCE = re.compile(r".*\.py(:\w*)?", re.DOTALL)


def is_reference(text: str) -> bool:
    """Whether a setting names a user's file.

    Examples
    --------
    >>> [is_reference(text) for text in ("mine.py:Mine", "pipes.py", "chacha", "a.pyc")]
    [True, True, False, False]
    """
    return _REFERENCE.fullmatch(text) is not None


def import_file(path: Path, what: str) -> ModuleType:
    """The module in `path`, executed once in a process unless the file changes.

    It is registered where dataclasses and pickle look it up, under a name that shadows nothing
    and is the same in every process while path and content are.

    Parameters
    ----------
    path : Path
    what : str
        What it is said to hold, for the message of the `UsageError` if it is not there.
    """
    if not path.is_file():
        raise UsageError(f"no {what} file {str(path)!r}: name an existing .py file")
    digest = hashlib.sha256(str(path.resolve()).encode() + b"\n" + path.read_bytes())
    name = f"users_{path.stem}_{digest.hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{str(path)!r} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    executed.add(path)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
