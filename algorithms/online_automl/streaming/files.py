"""Files and pickles of models for streams. What a file holds is never executed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write that takes the place of `path` in one step, or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch()
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder that"
            " exists and may be written"
        ) from error
    finally:
        if partial.is_file():
            partial.unlink()


def read_content(path: str | Path) -> bytes:
    """Return the content of a file; UsageError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name the file of a model"
        ) from error


def unpickled(cls: Any, content: bytes) -> Any:
    """Return the model that was pickled; UsageError if another version pickled it."""
    return cls.restored(plain.load(content, "the pickle")[1], "the pickle")
