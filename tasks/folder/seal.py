"""The seal of a result: a digest by which a later change of it, or of its event log, is seen.

``result.json`` holds the fields of a `Result`, under ``log`` the size and digest of the event log
beside it, and under ``seal`` the digest of all that. It finds accidents and edits by hand, of a
disk, of a person, of a tool that rewrites files. It is no signature: who computes the digest anew
has a whole seal.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from leaseboard.tasks.jobs.job import Result, first_fault, plain


class Log(NamedTuple):
    """What a seal knows of an event log."""

    size: int
    sha256: str


class DamagedError(ValueError):
    """A sealed result is not as it was written; the text says what is wrong with it."""


def seal(result: Result, log: Log | None) -> bytes:
    """The content of ``result.json``: `result`, and the log that it has, if any.

    Examples
    --------
    >>> fields = {"key": "k", "algorithm": "a", "label": "a", "data": "d", "digest": ""}
    >>> made = Result(**fields, seed=1, environment_seed=2, repetition=0, status="ok", score=0.5)
    >>> unseal(seal(made, None)) == (made, None)
    True
    >>> unseal(seal(made, None).replace(b"0.5", b"0.4"))
    Traceback (most recent call last):
        ...
    leaseboard.tasks.folder.seal.DamagedError: was changed after it was written
    """
    content = plain(result) | {"log": log and log._asdict()}
    return json.dumps(content | {"seal": digest_of(content)}, indent=1).encode()


def unseal(content: bytes) -> tuple[Result, Log | None]:
    """The result and its log, if the seal is whole; else a DamagedError."""
    try:
        fields = from_json(content)
    except ValueError as error:
        raise DamagedError(f"is damaged ({error})") from error
    if not isinstance(fields, dict) or "seal" not in fields:
        raise DamagedError("has no seal")
    if fields.pop("seal") != digest_of(fields):
        raise DamagedError("was changed after it was written")
    log = fields.pop("log", None)
    try:
        return Result(**fields), None if log is None else Log(**log)
    except ValidationError as error:
        raise DamagedError(f"is no result of this version ({first_fault(error)})") from error
    except TypeError as error:
        raise DamagedError(f"is no result of this version ({error})") from error


def log_at(path: Path) -> Log | None:
    """The event log at `path` as a seal knows it, None if there is none."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Log(file.tell(), digest)
    except FileNotFoundError:
        return None


def digest_of(content: dict[str, Any]) -> str:
    """What a seal holds of `content`, whatever the order of its keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
