"""Readers of event logs that may be cut off, damaged, or forged."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import from_json as strictly_parsed

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.errors import AuditError, LeaseboardError
from leaseboard.algorithms.events import Event, Measured, Started, of
from leaseboard.algorithms.log_format import from_json, write_log
from leaseboard.tasks.folder.results import replacing
from leaseboard.tasks.jobs.job import Amount, first_fault

_LINE_BYTES = 1 << 26
"""Longest line of a log: a longer one, such as a gigabyte of zeros, is not read to its end."""
_MOST_BYTES = 1 << 30
"""Of a whole log, unpacked; the longest of a paper's suites has a hundredth."""
_DAMAGE = (EOFError, OSError, zlib.error, ValueError, KeyError, TypeError, RecursionError,
           AuditError)  # fmt: skip
"""Errors of reading any file as an event log."""
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]


def read_partial_log(path: Path | IO[bytes]) -> list[Event]:
    """Return the events of a log up to where it is cut off or damaged.

    Raises LeaseboardError if the file does not begin with an event.
    """
    events: list[Event] = []
    try:
        with gzip.open(path) as log:
            while line := log.readline(_LINE_BYTES):
                events.append(from_json(line.decode()))
    except _DAMAGE as error:  # a job owns its folder, so anything may be there
        if not events and not isinstance(error, EOFError):
            raise LeaseboardError(f"{path} is not an event log: {error}") from error
    return events


def repair_log(path: Path) -> int:
    """Close a log that was cut off or damaged, with its events; return their number.

    A job owns its folder, so its log may hold anything: what the auditor does not pass is damage
    too, and nothing after it is kept. A file without events, such as one that the job overwrote,
    is removed. Where the disk has no room for the repaired log the damaged one stays: readers of
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
        with contextlib.suppress(OSError), replacing(path) as part:
            write_log(part, events)
    return len(events)


def rows_reached(path: Path) -> dict[str, float]:
    """Return the rows that a log of examples reaches, and their loss; {} for other logs."""
    events = read_partial_log(path)
    points = of(events, Measured)
    if not points or {first.unit for first in of(events, Started)} != {"examples"}:
        return {}
    return {"rows": points[-1].at, "loss_so_far": points[-1].value}


def check_log(file: IO[bytes], *, complete: bool) -> Auditor:
    """Refuse a log that no run of ours can have written: readers of logs may then trust it.

    `complete`: of a job that is ok; else the log may end anywhere.

    Returns the auditor, which knows how it began and ended.

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
    """Yield each event of a log, once its fields and `auditor` allow it there."""
    size = 0
    with gzip.open(file) as log:
        while line := log.readline(_LINE_BYTES):
            size += len(line)
            if size > _MOST_BYTES or len(line) == _LINE_BYTES:
                raise ValueError("it is longer than any log")
            strictly_parsed(line)
            event = from_json(line.decode())
            schema = _schema(type(event))
            schema.model_validate({name: getattr(event, name) for name in schema.model_fields})
            auditor(event)
            yield event


@cache
def _schema(kind: type[Event]) -> type[BaseModel]:
    """Return the schema of an event's fields, by their annotations."""
    fields: dict[str, Any] = {"at": (Amount, ...)}
    held = {int: _Integer, int | None: _Integer | None}  # the integers that a database holds
    for name, hint in get_type_hints(kind).items():
        fields.setdefault(name, (held.get(hint, hint), ...))
    return create_model(kind.__name__, __config__=ConfigDict(strict=True), **fields)
