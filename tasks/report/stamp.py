"""What a page was made from, so that a run with nothing new does not make it again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tasks.folder.results import RESULT, TABLE
from tasks.jobs.suites.suite import Suite
from tasks.report.provenance import packages

_CODE = Path(__file__).resolve().parents[2]
_SUFFIXES = {".py", ".html", ".css", ".js"}
_HEAD = 4096
"""The stamp stands among the first bytes of a page."""


def stamp(out: Path, suite: Suite | None) -> str:
    """A digest of all that the page of `out` shows: results, suite, our code, the packages.

    The event logs count by their digests, which the sealed results hold.
    """
    digest = hashlib.sha256((out / TABLE).read_bytes())
    for sealed in sorted(out.glob(f"jobs/*/{RESULT}")):
        digest.update(sealed.read_bytes())
    described = "" if suite is None else suite.model_dump_json()
    digest.update(json.dumps([out.name, described, packages()]).encode())
    for source in sorted(_sources()):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def is_stamped(page: Path, with_stamp: str) -> bool:
    """Whether the page is there and was made from what `with_stamp` stands for."""
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return with_stamp.encode() in file.read(_HEAD)


def _sources() -> list[Path]:
    """Our files that can change a page; conservatively all of them."""
    return [
        path
        for top in ("algorithms", "tasks")
        for path in (_CODE / top).rglob("*")
        if path.suffix in _SUFFIXES
    ]
