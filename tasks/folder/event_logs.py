"""Readers of event logs that may be cut off or damaged."""

import contextlib
import zlib
from pathlib import Path

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import Event, Measured, Started, of, read_log, write_log
from leaseboard.tasks.folder.results import replacing

_DAMAGE = (EOFError, OSError, zlib.error, ValueError, KeyError, TypeError, RecursionError)
"""Errors of reading any file as an event log."""


def read_partial_log(path: Path) -> list[Event]:
    """Return the events of a log up to where it is cut off or damaged.

    Raises LeaseboardError if the file does not begin with an event.
    """
    events, damage = read_damaged_log(path)
    if not events and damage is not None and not isinstance(damage, EOFError):
        raise LeaseboardError(f"{path} is not an event log: {damage}") from damage
    return events


def read_damaged_log(path: Path) -> tuple[list[Event], Exception | None]:
    """Return the events of a log, and the error at which it ends; None of a whole one."""
    events: list[Event] = []
    try:
        events.extend(read_log(path))
    except _DAMAGE as error:  # a job owns its folder, so anything may be there
        return events, error
    return events, None


def repair_log(path: Path) -> int:
    """Close a log that was cut off or damaged, with its events; return their number.

    A file without events, such as one that the job overwrote, is removed. Where the disk has no
    room for the repaired log the damaged one stays: readers of logs take what it holds.
    """
    if not path.is_file():
        return 0
    events, damage = read_damaged_log(path)
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
