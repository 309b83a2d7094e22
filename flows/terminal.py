"""The one way by which a command prints a line, and who else hears it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import typer

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
