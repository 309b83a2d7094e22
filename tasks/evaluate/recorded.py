"""What the stores of trials and of probes do alike when a file of theirs cannot be used."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from algorithms.errors import LeaseboardError
from tasks.machine import disk

Record = dict[str, Any]

_log = logging.getLogger(__name__)


def sealed(record: Mapping[str, Any]) -> bytes:
    r"""A record as one line without its end: JSON, a tab and the sum of its bytes.

    Examples
    --------
    >>> sealed({"correct": 850})
    b'{"correct":850}\t89f36768'
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return b"%s\t%08x" % (text, zlib.crc32(text))


def unsealed(line: bytes) -> Record:
    """The record that was `sealed`; ValueError if any of its bytes has changed since."""
    text, _, seal = line.rpartition(b"\t")
    if seal != b"%08x" % zlib.crc32(text):
        raise ValueError(f"{line[:40]!r} is no record, or has changed since it was written")
    record: Record = json.loads(text)
    return record


def set_aside(path: Path) -> None:
    """Keep a damaged store under another name, so that its values are computed anew."""
    kept = disk.set_aside(path)
    _log.warning("the store %s is damaged: kept as %s, its values are computed anew", path, kept)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Turn a refusal of the system into one line that names the store and the mend."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error


def unusable(path: Path, reason: str) -> LeaseboardError:
    """The error for a store that is not damaged and cannot be used all the same."""
    return LeaseboardError(
        f"the store {path} cannot be used: {reason}: mend that, or name another cache with"
        " LEASEBOARD_CACHE"
    )


def identity(path: Path) -> int:
    """A number of the file that `path` names just now; 0 if there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
