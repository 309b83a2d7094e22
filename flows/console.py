"""What commands share: lines on the terminal, folders that are written into, and interruptions."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import LOCK, Damage
from leaseboard.tasks.machine.terminal import harmless

_listeners: list[Callable[[str], None]] = []


def say(text: object = "", *, err: bool = False, file: IO[str] | None = None) -> None:
    """Print `text` into `file`; without one on standard output, or on standard error if `err`.

    Nothing in it is obeyed by the terminal, and no password of an address that this process was
    given stands in it, whoever's words they are.
    """
    typer.echo(harmless(str(text)), file=file, err=err)
    tell(str(text))


def tell(text: str) -> None:
    """Let those who listen know what the terminal shows in a form of its own."""
    for listener in _listeners:
        listener(harmless(text))


@contextmanager
def overheard(listener: Callable[[str], None]) -> Iterator[None]:
    """Have `listener` told of everything that is said."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


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


SIGINT_EXIT = 128 + signal.SIGINT
SIGTERM_EXIT = 128 + signal.SIGTERM
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_NAMES = {128 + number: number.name for number in _ENDING}


class InterruptedRunError(LeaseboardError):
    """A run was stopped from outside; `code` is what its process exits with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise SystemExit here, as Ctrl-C raises KeyboardInterrupt.

    The code is 128 and the signal's number. A signal that is ignored, as under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {
        number: signal.signal(number, end)
        for number in _ENDING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def resumable(home: Path, kept: str = "") -> Iterator[None]:
    """Say what is kept in the run folder `home` when the run in it is interrupted.

    `kept`: says it; how many jobs have finished by default.

    Raises InterruptedRunError: in place of KeyboardInterrupt, and of SystemExit after a signal.
    """
    try:
        with terminable():
            yield
    except (KeyboardInterrupt, SystemExit) as stop:
        by_user = isinstance(stop, KeyboardInterrupt)
        code = SIGINT_EXIT if by_user else stop.code
        if not isinstance(code, int) or not (by_user or code in _NAMES):
            raise
        if not kept:
            done = sum(result.status == "ok" for result in results.read_results(home))
            kept = f"{done} finished job{'s' * (done != 1)} kept in"
        who = "the user" if by_user else _NAMES[code]
        said = f"stopped by {who}: {kept} {str(home)!r}; run the same command again to resume"
        raise InterruptedRunError(said, code) from stop
