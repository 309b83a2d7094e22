"""Reading an event log that may be cut off, damaged, made up, or no event log at all."""

from __future__ import annotations

import dataclasses
import gzip
import os
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import from_json as strictly_parsed

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.errors import AuditError, LeaseboardError
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import from_json, write_log
from leaseboard.tasks.jobs.job import Amount, first_fault

_LINE_BYTES = 1 << 26
"""No event is as long: a line that is, such as a gigabyte of zeros, is not read to its end."""
_MOST_BYTES = 1 << 30
"""Of a whole log, unpacked; the longest of a paper's suites has a hundredth."""
_DAMAGE = (EOFError, OSError, zlib.error, ValueError, KeyError, TypeError, RecursionError,
           AuditError)  # fmt: skip
"""What reading anything at all as an event log may raise."""
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]


def read_partial_log(path: Path | IO[bytes]) -> list[Event]:
    """The events of a log that may be cut off or damaged: everything up to there.

    Raises LeaseboardError if the file begins with something else.
    """
    events, damage = _read_events(path)
    if not events and damage is not None and not isinstance(damage, EOFError):
        raise LeaseboardError(f"{path} is not an event log: {damage}") from damage
    return events


def mend_log(path: Path) -> int:
    """Close a log that was cut off or damaged, keeping its events; returns how many there are.

    A job owns its folder, so its log may hold anything: what the auditor does not pass is damage
    too, and nothing after it is kept. A file without events, such as one that the job overwrote,
    is removed. Where the disk has no room for the mended log the damaged one stays: readers of
    logs take what it holds.
    """
    if not path.is_file():
        return 0
    events: list[Event] = []
    damage: Exception | None = None
    try:
        with path.open("rb") as file:
            events.extend(_audited(file, Auditor()))
    except _DAMAGE as error:
        damage = error
    if not events:
        path.unlink()
    elif damage is not None:
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            write_log(part, events)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
    return len(events)


def _read_events(path: Path | IO[bytes]) -> tuple[list[Event], Exception | None]:
    """The events at the beginning of a file, and what is wrong after them.

    Anything at all may be there: a job owns its folder.
    """
    events: list[Event] = []
    try:
        with gzip.open(path) as log:
            while line := log.readline(_LINE_BYTES):
                events.append(from_json(line.decode()))
    except _DAMAGE as error:
        return events, error
    return events, None


def check_log(file: IO[bytes], *, complete: bool) -> Auditor:
    """Refuse a log that no run of ours can have written: readers of logs may then trust it.

    `complete`: of a job that is ok; else the log may end anywhere.

    Returns the auditor, who knows how it began and ended.

    Raises ValueError with the line at which it is wrong.
    """
    auditor, number = Auditor(), 1
    try:
        for _ in _audited(file, auditor):
            number += 1
        if complete:
            auditor.close()
    except EOFError as error:
        if complete:
            raise ValueError(f"line {number}: {error}") from error
    except _DAMAGE as error:
        raise ValueError(f"line {number}: {first_fault(error)}") from error
    return auditor


def _audited(file: IO[bytes], auditor: Auditor) -> Iterator[Event]:
    """Each event of a log, once its fields and `auditor` say that one of ours can be there."""
    size = 0
    with gzip.open(file) as log:
        while line := log.readline(_LINE_BYTES):
            size += len(line)
            if size > _MOST_BYTES or len(line) == _LINE_BYTES:
                raise ValueError("it is longer than any log")
            strictly_parsed(line)
            event = from_json(line.decode())
            fields = {name: getattr(event, name) for name in _names(type(event))}
            _schema(type(event)).model_validate(fields)
            auditor(event)
            yield event


@cache
def _names(kind: type[Event]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _schema(kind: type[Event]) -> type[BaseModel]:
    """What the fields of an event may hold, by their annotations."""
    fields: dict[str, Any] = {name: (_bounded(hint), ...) for name, hint in
                              get_type_hints(kind).items()}  # fmt: skip
    fields["at"] = (Amount, ...)
    return create_model(kind.__name__, __config__=ConfigDict(strict=True), **fields)


def _bounded(hint: Any) -> Any:
    """The type with integers that a database holds."""
    if hint is int:
        return _Integer
    return _Integer | None if hint == int | None else hint
