"""Terminal output, output folders and interruptions, for all commands."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import FrameType

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.machine import terminal

_listeners: list[Callable[[str], None]] = []
_quiet = False


def be_quiet(quiet: bool) -> None:
    """Print, of all that this process does, only results, warnings and errors, or progress too."""
    global _quiet  # noqa: PLW0603
    _quiet = quiet


def say_progress(text: str) -> None:
    """Print `text` on standard error, unless --quiet is given."""
    if _quiet:
        notify_listeners(text)
    else:
        say(text, err=True)


def watched(what: str) -> AbstractContextManager[None]:
    """Show how much of its work a command has done, unless --quiet is given."""
    return nullcontext() if _quiet else terminal.watched(what, as_bar=sys.stderr.isatty())


def say(text: object = "", *, err: bool = False) -> None:
    """Print `text` on standard output, or on standard error if `err`.

    Signs that a terminal would obey, and passwords of addresses given to this process, are hidden.
    """
    with terminal.printing():
        typer.echo(terminal.harmless(str(text)), err=err)
    if err:
        terminal.spoken()
    notify_listeners(str(text))


def echo(data: str) -> None:
    """Print data on standard output unchanged, where hiding a password could change a value."""
    with terminal.printing():
        sys.stdout.write(f"{data}\n")
        sys.stdout.flush()


@cache
def report_outage() -> None:
    """Print, once in a process, that Prefect's server does not answer: not to its log."""
    text = "Prefect does not answer: its page will miss a part; the run goes on without it"
    typer.echo(f"leaseboard: {text}", err=True)


def notify_listeners(text: str) -> None:
    """Pass on to the listeners a text that the terminal shows in another form."""
    for listener in _listeners:
        listener(terminal.harmless(text))


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with everything that `say` prints."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def output_folder(path: Path) -> Path:
    """Return `path` as an existing folder."""
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def check_file(path: Path) -> None:
    """Raise UsageError if a file cannot be written at `path`; create nothing."""
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {str(path)!r}: name a file in a writable folder")


def say_damage(found: Iterable[str]) -> None:
    """Print a line on standard error for each damaged file."""
    for damage in found:
        say(f"leaseboard: {damage}", err=True)


def report_damage(*folders: Path) -> int:
    """Print a line on standard error for each damaged file of run folders.

    Returns the exit code of a command that goes on without their jobs: 2, or 0 without any.
    """
    from leaseboard.tasks.folder import results

    found = [damage for out in dict.fromkeys(folders) for damage in results.damaged(out)]
    say_damage(found)
    return 2 if found else 0


SIGINT_EXIT = 128 + signal.SIGINT
SIGTERM_EXIT = 128 + signal.SIGTERM
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_NAMES = {SIGINT_EXIT: "the user"} | {128 + number: number.name for number in _ENDING}


class InterruptedRunError(LeaseboardError):
    """Interruption of a run from outside; `code` is the exit code of its process."""

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
    """Raise InterruptedRunError when the run in the folder `home` is interrupted.

    It replaces KeyboardInterrupt, and SystemExit after a signal.

    - `kept`: says what the folder holds; by default how many jobs have finished.
    """
    try:
        with terminable():
            yield
    except (KeyboardInterrupt, SystemExit) as stop:
        code = stop.code if isinstance(stop, SystemExit) else SIGINT_EXIT
        if not isinstance(code, int) or code not in _NAMES:
            raise
        if not kept:
            from leaseboard.tasks.folder import results

            done = sum(result.status == "ok" for result in results.read_results(home))
            kept = f"{done} finished job{'s' * (done != 1)} kept in"
        said = f"stopped by {_NAMES[code]}: {kept} {str(home)!r}"
        raise InterruptedRunError(f"{said}; run the same command again to resume", code) from stop
