"""Files and pickles of models for streams. What a file holds is never executed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import KINDS, Event

Row = list[Any]


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


def row_of(event: Event) -> Row:
    """Return the name of its kind and its raw fields: copies would take most of a save's time.

    Examples
    --------
    >>> from leaseboard.algorithms.events import Paused
    >>> row_of(Paused(at=5, configuration=2, units=3))
    ['Paused', 5, 2, 3, '']
    >>> event_of(['Paused', 5, 2, 3, ''])
    Paused(at=5, configuration=2, units=3, reason='')
    """
    values = (getattr(event, field.name) for field in dataclasses.fields(event))
    return [type(event).__name__, *values]


def event_of(row: Row) -> Event:
    """Return the event of which `row_of` made the row; ValueError or TypeError for any other."""
    name, *values = row
    fields = (field.name for field in dataclasses.fields(KINDS[name]))
    return KINDS[name](**dict(zip(fields, values, strict=True)))
