"""The one way by which a command prints a line, and who else hears it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tasks.addresses import known, scrubbed
from tasks.terminal import shown

_listeners: list[Callable[[str], None]] = []


def say(text: object = "", *, err: bool = False) -> None:
    """Print `text`, on standard error if `err`.

    Nothing in it is obeyed by the terminal, and no password of an address that this process was
    given stands in it, whoever's words they are.
    """
    typer.echo(_harmless(str(text)), err=err)
    tell(str(text))


def tell(text: str) -> None:
    """Let those who listen know what the terminal shows in a form of its own."""
    for listener in _listeners:
        listener(_harmless(text))


@contextmanager
def overheard(listener: Callable[[str], None]) -> Iterator[None]:
    """Have `listener` told of everything that is said."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _harmless(text: str) -> str:
    return shown(scrubbed(text, known(sys.argv[1:])))
