"""The one way by which a command prints a line, and who else hears it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tasks.terminal import shown

_listeners: list[Callable[[str], None]] = []


def say(text: object = "", *, err: bool = False) -> None:
    """Print `text`, on standard error if `err`; nothing in it is obeyed by the terminal."""
    typer.echo(shown(str(text)), err=err)
    tell(str(text))


def tell(text: str) -> None:
    """Let those who listen know what the terminal shows in a form of its own."""
    for listener in _listeners:
        listener(shown(text))


@contextmanager
def overheard(listener: Callable[[str], None]) -> Iterator[None]:
    """Have `listener` told of everything that is said."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
