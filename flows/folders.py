"""Folders that a command writes into: checked before it begins, and what is damaged in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.terminal import say
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import LOCK, Damage


def output_folder(path: Path) -> Path:
    """`path` as an existing, writable folder."""
    check_writable(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write to {str(path)!r}: {error.strerror}; name a writable folder with --out"
        ) from error
    return path.resolve()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """`path` as a writable folder; what was made for it goes again if an error leaves it empty."""
    absent = [place for place in (path, *path.parents) if not place.exists()]
    folder = output_folder(path)
    try:
        yield folder
    except BaseException:
        if absent and [file.name for file in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
        for place in absent:
            if not any(place.iterdir()):
                place.rmdir()
        raise


def check_file(path: Path) -> None:
    """UsageError if a file cannot be written at `path`; makes nothing."""
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {str(path)!r}: name a file in a writable folder")


def check_writable(path: Path) -> None:
    """UsageError if `path` is no writable folder, or cannot become one; makes nothing."""
    there = next(place for place in (path, *path.resolve().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write to {str(path)!r}: name a writable folder with --out")


MOST_LINES = 5


def say_damage(found: Sequence[Damage]) -> None:
    """One line on standard error for each file, the first few by name."""
    for damage in found[:MOST_LINES]:
        say(f"leaseboard: {damage}", err=True)
    if len(found) > MOST_LINES:
        say(f"leaseboard: and {len(found) - MOST_LINES} more such files", err=True)


def check_folder(out: Path) -> None:
    """Look at all files of a run folder, and say which are damaged."""
    say_damage(results.damaged(out))
