"""The checksum of a result, which shows later changes of it, or of its event log.

``result.json`` holds the fields of a `Result`, under ``log`` the size and digest of its event log,
and under ``checksum`` the digest of all that. It finds accidents and edits, of a disk, a person,
or a tool that rewrites files. It is not a signature: a forger can compute the digest again.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from leaseboard.tasks.jobs.job import Result, first_fault, plain

FORMAT = "leaseboard-run-2"
"""The format of run folders; its number is raised where what their names mean changes."""


class Log(NamedTuple):
    """Size and digest of an event log."""

    size: int
    sha256: str


class DamagedError(ValueError):
    """Error of a result that was changed or damaged; the text says how."""


def dump_result(result: Result, log: Log | None) -> bytes:
    """Return the content of ``result.json``: `result`, and its log, if any.

    Examples
    --------
    >>> fields = {"key": "k", "algorithm": "a", "name": "a", "data": "d", "digest": ""}
    >>> made = Result(**fields, seed=1, environment_seed=2, repetition=0, status="ok", score=0.5)
    >>> load_result(dump_result(made, None)) == (made, None)
    True
    >>> load_result(dump_result(made, None).replace(b"0.5", b"0.4"))
    Traceback (most recent call last):
        ...
    leaseboard.tasks.folder.checksums.DamagedError: was changed after it was written
    """
    content = plain(result) | {"log": log and log._asdict(), "format": FORMAT}
    return json.dumps(content | {"checksum": digest_of(content)}, indent=1).encode()


def load_result(content: bytes) -> tuple[Result, Log | None]:
    """Return the result and its log; DamagedError unless the checksum fits."""
    try:
        fields = from_json(content)
    except ValueError as error:
        raise DamagedError(f"is damaged ({error})") from error
    if not isinstance(fields, dict) or "checksum" not in fields:
        raise DamagedError("has no checksum of this version")
    if fields.pop("checksum") != digest_of(fields):
        raise DamagedError("was changed after it was written")
    if fields.pop("format", None) != FORMAT:
        raise DamagedError("is of another version of Leaseboard")
    log = fields.pop("log", None)
    try:
        return Result(**fields), None if log is None else Log(**log)
    except (ValidationError, TypeError) as error:
        raise DamagedError(f"is not a result of this version ({first_fault(error)})") from error


def log_at(path: Path) -> Log | None:
    """Return size and digest of the event log at `path`, None if the file is missing."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Log(file.tell(), digest)
    except FileNotFoundError:
        return None


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of `content`, in any order of its keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
