"""``leaseboard data``: what data there are, and whether they are whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaseboard.flows.commands.options import Conf, Mirrors
from leaseboard.flows.terminal import say

app = typer.Typer(help="List, fetch, verify and import data sets.", no_args_is_help=True)


@app.command("list")
def list_data(mirror: Mirrors = None, conf: Conf = None) -> None:
    """List the data sets that can be named.

    Example: leaseboard data list
    """
    from leaseboard.flows.commands.listing import list_all

    list_all("data", mirror, conf)


@app.command("fetch")
def fetch_data(
    references: Annotated[list[str], typer.Argument(help="Data references.")],
    mirror: Mirrors = None,
) -> None:
    """Fetch data sets into the cache and print what they are.

    Example: leaseboard data fetch openml:215
    """
    from leaseboard.tasks import fetch
    from leaseboard.tasks.machine import paths

    for reference in references:
        data = fetch.load(reference, mirrors=paths.mirrors(tuple(mirror or ())))
        say(
            f"{reference}: {len(data.features)} rows, {data.features.shape[1]} features,"
            f" {data.task}, target {data.target.name!r}, digest {data.digest}"
        )


@app.command("verify")
def verify_data(mirror: Mirrors = None) -> int:
    """Compare every file of the mirrors and of the cache with its digest.

    Example: leaseboard data verify --mirror my-mirror
    """
    from leaseboard.tasks import fetch
    from leaseboard.tasks.machine import paths

    checked = 0
    wrong = 0
    for entry in fetch.verify(paths.mirrors(tuple(mirror or ()))):
        checked += 1
        wrong += not entry.whole
        say(f"{'ok' if entry.whole else 'WRONG'}  {entry.name}  {entry.detail}".rstrip())
    say(f"{checked} files checked, {wrong} wrong")
    return 2 if wrong else 0 if checked else 3


@app.command("import")
def import_data(
    file: Annotated[Path, typer.Argument(help="A csv, parquet, arff or libsvm file.")],
    name: Annotated[str | None, typer.Option(help="Its name (default: the file's stem).")] = None,
    target: Annotated[str | None, typer.Option(help="The target column (default: last).")] = None,
    task: Annotated[str | None, typer.Option(help="regression or classification.")] = None,
) -> None:
    """Copy a file of your own into the cache under a name; an earlier import of it is replaced.

    Example: leaseboard data import sales.csv --target revenue
    """
    from leaseboard.tasks import fetch

    replaces = fetch.is_imported(file.stem if name is None else name)
    entry = fetch.import_file(file, name=name, target=target, task=task)
    say(f"{'imported again, replacing' if replaces else 'imported as'} {entry}")
