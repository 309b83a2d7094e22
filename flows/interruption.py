"""Ctrl-C, SIGTERM and SIGHUP end a run alike: it cleans up, and a line says what was kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from leaseboard.algorithms.errors import LeaseboardError

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
def resumable(home: Path, kept: Callable[[Path], str] | None = None) -> Iterator[None]:
    """Say what is kept in the run folder `home` when the run in it is interrupted.

    `kept`: says it of the folder; how many jobs have finished by default.

    Raises InterruptedRunError: in place of KeyboardInterrupt, and of SystemExit after a signal.
    """
    try:
        with terminable():
            yield
    except KeyboardInterrupt as stop:
        raise InterruptedRunError(_told("the user", home, kept), SIGINT_EXIT) from stop
    except SystemExit as stop:
        if not isinstance(stop.code, int) or stop.code not in _NAMES:
            raise
        raise InterruptedRunError(_told(_NAMES[stop.code], home, kept), stop.code) from stop


def _told(who: str, home: Path, kept: Callable[[Path], str] | None) -> str:
    what = (kept or _finished_jobs)(home)
    return f"stopped by {who}: {what}; run the same command again to resume"


def _finished_jobs(home: Path) -> str:
    from leaseboard.tasks.folder.results import read_results

    done = sum(result.status == "ok" for result in read_results(home))
    return f"{done} finished job{'s' * (done != 1)} kept in {str(home)!r}"
