"""Environment variables that are others for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def variable_set(name: str, value: str) -> Iterator[None]:
    """Set a variable meanwhile, in this process and those that it starts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
