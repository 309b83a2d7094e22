"""Reading an event log that may be cut off, damaged, or no event log at all."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from algorithms.errors import LeaseboardError
from algorithms.events import Event, from_json, write_log

_LINE_BYTES = 1 << 26
"""No event is as long: a line that is, such as a gigabyte of zeros, is not read to its end."""


def read_partial_log(path: Path) -> list[Event]:
    """The events of a log that may be cut off or damaged: everything up to there.

    Raises
    ------
    LeaseboardError
        If the file begins with something else.
    """
    events, damage = _read_events(path)
    if not events and damage is not None and not isinstance(damage, EOFError):
        raise LeaseboardError(f"{path} is not an event log: {damage}") from damage
    return events


def mend_log(path: Path) -> int:
    """Close a log that was cut off or damaged, keeping its events; returns how many there are.

    A file without any, such as one that the job overwrote, is removed. Where the disk has no room
    for the mended log the damaged one stays: readers of logs take what it holds.
    """
    if not path.is_file():
        return 0
    events, damage = _read_events(path)
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


def _read_events(path: Path) -> tuple[list[Event], Exception | None]:
    """The events at the beginning of a file, and what is wrong after them.

    Anything at all may be there: a job owns its folder.
    """
    events: list[Event] = []
    try:
        with gzip.open(path) as log:
            while line := log.readline(_LINE_BYTES):
                events.append(from_json(line.decode()))
    except (
        EOFError,
        OSError,
        zlib.error,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:
        return events, error
    return events, None
