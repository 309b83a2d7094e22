"""``leaseboard peers``: the environments of other AutoML systems."""

from __future__ import annotations

from typing import Annotated

import typer

from leaseboard.flows.terminal import say

app = typer.Typer(
    help="List, install and remove other AutoML systems to compare with.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="A peer, such as flaml.")]


@app.command("list")
def list_peers() -> None:
    """List the peers and whether they are installed.

    Example: leaseboard peers list
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    for name in venv.names():
        place = venv.folder(name) if venv.is_installed(name) else "not installed"
        say(f"{name}  {place}")


@app.command("install")
def install(name: Name) -> None:
    """Make a peer's environment, with exact pins, in the cache.

    Example: leaseboard peers install flaml
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    say(f"{name}  {venv.install(name)}")


@app.command("remove")
def remove(name: Name) -> int:
    """Delete a peer's environment.

    Example: leaseboard peers remove flaml
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    removed = venv.remove(name)
    say(f"{name}  {'removed' if removed else 'was not installed'}")
    return 0 if removed else 3
