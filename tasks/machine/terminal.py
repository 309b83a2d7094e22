r"""Text from outside that a terminal shows and does not obey, and progress bars.

A label of an archive, a name of a model in a shared store, what a server answered: each may hold
signs that clear the screen, rename its window, or reverse a line. All that is printed goes
through here.

What does many things counts them, with `counted` or an `Activity`; that shows nothing by itself.
`watched` shows the innermost work from a thread of its own, and so a command that only waits too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Self, TypeVar

from leaseboard.tasks.machine.addresses import discreet

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for the tab and the end of a line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # those that change the direction of a text
    "\u2028\u2029\ud800-\udfff]"  # other ends of lines; what no encoding can write
)


def shown(text: str) -> str:
    r"""Return `text` with every sign that a terminal would obey escaped; line ends stay.

    Examples
    --------
    >>> print(shown("cha\x1b[2Jcha"))
    cha\x1b[2Jcha
    """
    return _OBEYED.sub(lambda sign: sign[0].encode("unicode_escape").decode("ascii"), text)


def harmless(text: str) -> str:
    """Return `text` without signs that a terminal obeys and passwords given to this process."""
    return shown(discreet(text))


_ERASE = "\r\x1b[K"
_drawn: list[IO[str]] = []
"""The terminal that shows a bar, if any: see `leaseboard.tasks.machine.terminal`."""
drawing = threading.RLock()
"""Held by the thread that writes to the terminal, and while a process forks: a child would wait
for a thread that it does not have."""
os.register_at_fork(
    before=drawing.acquire, after_in_parent=drawing.release, after_in_child=drawing.release
)


@contextmanager
def printing() -> Iterator[None]:
    """Take the bar away; its thread draws it again."""
    with drawing:
        while _drawn:
            file = _drawn.pop()
            file.write(_ERASE)
            file.flush()
        yield


def draw(line: str, file: IO[str]) -> None:
    """Draw a line of progress in the place of the last one."""
    with drawing:
        most = shutil.get_terminal_size().columns - 1
        file.write(f"{_ERASE}{harmless(line)[:most]}")
        file.flush()
        _drawn[:] = [file]


PATIENCE = 1.5
"""Seconds of silence after which a command shows that it works."""
EVERY = 10.0
"""Seconds from one line of progress to the next."""
REDRAWN = 0.2
"""Seconds from one state of a bar to the next."""
WIDTH = 20
"""Signs of a bar."""
_MINUTES = 100
"""Seconds from which on a time is in minutes."""

Item = TypeVar("Item")
_activities: list[Activity] = []
_spoken = [0.0]
"""When the last line was printed."""


@dataclass(eq=False)
class Activity:
    """A part of a command, shown within its ``with``; its attributes may be changed.

    - `what`: as the user calls it.
    - `total`: how much there is to do, if that is known.
    - `unit`: of what.
    - `done`: how much is done, or a function that returns it.
    """

    what: str
    total: float | None = None
    unit: str = ""
    done: float | Callable[[], float] = 0.0

    def __post_init__(self) -> None:
        self.began = time.monotonic()

    def __enter__(self) -> Self:
        _activities.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _activities.remove(self)

    @property
    def at(self) -> float:
        """How much is done."""
        return self.done() if callable(self.done) else self.done

    def words(self) -> str:
        """Return a line: what is done, and in which time."""
        taken, done = time.monotonic() - self.began, self.at
        if self.total is None and not done:
            return f"{self.what}: working for {_shown(taken)}"
        of = "" if self.total is None else f" of {self.total:.6g}"
        amount = f"{done:.6g}{of} {self.unit}".rstrip()
        return f"{self.what}: {amount} in {_shown(taken)}"

    def as_bar(self) -> str:
        """Return the line with a bar in front of it, if the total is known."""
        done = int(WIDTH * self.at / self.total) if self.total else 0
        bar = f"[{'#' * done}{'.' * (WIDTH - done)}] " if self.total else ""
        return bar + self.words()


def _shown(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _MINUTES else f"{seconds / 60:.0f} min"


def counted(
    items: Iterable[Item], what: str, unit: str, total: float | None = None
) -> Iterator[Item]:
    """Yield the items one after the other, and count those that are done."""
    if total is None and isinstance(items, Collection):
        total = len(items)
    with Activity(what, total, unit) as work:
        for done, item in enumerate(items, 1):
            yield item
            work.done = done


def spoken() -> None:
    """Remember that a line was printed: the next line of progress can wait."""
    _spoken[0] = time.monotonic()


@contextmanager
def watched(what: str, *, as_bar: bool) -> Iterator[None]:
    """Show on standard error what is done, from `PATIENCE` seconds on.

    - `as_bar`: a bar, which is gone at the end; otherwise a line every `EVERY` seconds.
    """
    over = threading.Event()
    thread = threading.Thread(
        target=_show, args=(sys.stderr, over, as_bar), name="progress", daemon=True
    )
    spoken()
    with Activity(what):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _show(file: IO[str], over: threading.Event, as_bar: bool) -> None:
    pause = patience = PATIENCE
    with suppress(OSError, ValueError):  # no one reads it: the command finds that out itself
        while not over.wait(pause):
            if as_bar:
                draw(_activities[-1].as_bar(), file)
                pause = REDRAWN
                continue
            pause = patience - (time.monotonic() - _spoken[0])
            if pause <= 0:
                with printing():
                    file.write(f"{harmless(_activities[-1].words())}\n")
                    file.flush()
                spoken()
                pause = patience = EVERY
        with printing():  # takes the bar away
            pass
