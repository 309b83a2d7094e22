"""The one way by which a command prints a line."""

from __future__ import annotations

import typer

from tasks.terminal import shown


def say(text: object = "", *, err: bool = False) -> None:
    """Print `text`, on standard error if `err`; nothing in it is obeyed by the terminal."""
    typer.echo(shown(str(text)), err=err)
