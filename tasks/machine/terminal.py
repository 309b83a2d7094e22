r"""Text from outside that a terminal shows and does not obey, and progress bars.

A label of an archive, a name of a model in a shared store, what a server answered: each may hold
signs that clear the screen, rename its window, or reverse a line. All that is printed goes
through here.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from leaseboard.tasks.machine.addresses import discreet

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

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


def cell(text: str, style: str = "") -> Text:
    """Return `text` for a table of `rich`: `harmless`, and not read as markup."""
    from rich.text import Text

    return Text(harmless(text), style)


def show(made_of_cells: RenderableType, console: Console | None = None) -> None:
    """Print a `rich` layout, on standard output unless a console is given."""
    from rich.console import Console

    with printing():
        (console or Console(highlight=False)).print(made_of_cells)


_ERASE = "\r\x1b[K"
_drawn: list[IO[str]] = []
"""The terminal that shows a bar, if any: see `leaseboard.tasks.machine.progress`."""
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
