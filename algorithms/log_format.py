"""The log of a run, written and read: events as lines of JSON.

A log is a gzip file of JSON lines, one event a line::

    {"event": "LeaseGranted", "at": 0, "configuration": 3, "amount": 50, "slot": 1, "fresh": true}
"""

import dataclasses
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from leaseboard.algorithms.errors import naming
from leaseboard.algorithms.events import KINDS, Event


def to_json(event: Event) -> str:
    """Return one line of JSON, without spaces; NaN and infinities are written as strings."""
    payload = {"event": type(event).__name__}
    for field in dataclasses.fields(event):
        payload[field.name] = _plain(getattr(event, field.name))
    return json.dumps(payload, separators=(",", ":"), allow_nan=False)


def from_json(line: str) -> Event:
    """Return the event that `to_json` wrote; ValueError names what is wrong with the line."""
    payload = json.loads(line)
    name = str(payload.pop("event", None) if isinstance(payload, dict) else None)
    if name not in KINDS:
        raise ValueError(f"not an event: {line[:80]!r} has none of {', '.join(sorted(KINDS))}")
    try:
        return KINDS[name](**{name: _back(value) for name, value in payload.items()})
    except TypeError as error:
        raise ValueError(f"not a {name}: {error}") from error


def write_log(path: Path, events: Iterable[Event]) -> None:
    """Write a complete log; equal events give equal bytes (the gzip header holds no time)."""
    with LogWriter(path) as log:
        for event in events:
            log(event)


def read_log(path: Path) -> Iterator[Event]:
    """Yield the events of a log, in order; replay them into any sink."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from_json(line)


class LogWriter:
    """A sink that writes the full log of a job as a gzip file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw = path.open("wb")
        self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)
        self._lines = 0

    def __call__(self, event: Event) -> None:
        """Append one event."""
        with naming(self._path):
            self._file.write(to_json(event).encode() + b"\n")
            self._lines += 1
            # What was flushed survives a kill; by count, so that equal events give equal bytes.
            if self._lines % 256 == 0 or self._lines & (self._lines - 1) == 0:
                self._file.flush()

    def close(self) -> None:
        """Finish the file; a log that was never closed is cut off, not corrupt."""
        with naming(self._path):
            self._file.close()
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_SPECIAL = {str(each): each for each in (math.nan, math.inf, -math.inf)}
"""Each is one object, so that events that are read twice are equal."""


def _plain(value: Any) -> Any:
    """Return `value` in JSON's own types: numpy scalars become Python's, tuples become lists."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _back(value: Any) -> Any:
    """Return the inverse of `_plain`; lists become tuples, as events hold."""
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return _SPECIAL[value["$float"]]
        return {key: _back(item) for key, item in value.items()}
    return tuple(map(_back, value)) if isinstance(value, list) else value
