"""``leaseboard publish``: boards as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaseboard.flows.folders import check_folder, new_folder
from leaseboard.flows.terminal import say


def publish(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs.")],
    out: Annotated[Path, typer.Option("--out", help="The site's folder, new or there already.")],
) -> None:
    """Add the boards of runs to a static site, which any web server shows, or a browser from disk.

    Boards that are there stay. The same boards make the same bytes, in whatever order they come.

    Example: leaseboard publish runs/quick runs/both --out site
    """
    from leaseboard.algorithms.errors import UsageError

    for folder in runs:
        if not (folder / "results.parquet").is_file():
            raise UsageError(f"{str(folder)!r} has no results.parquet: name the --out of a run")

    from leaseboard.tasks.report import site as core

    for folder in runs:
        check_folder(folder)
    with new_folder(out) as place:
        made = core.publish(runs, place)
    for board in made.new:
        say(f"{board.id}: {board.title}, {board.jobs} jobs")
    say(f"site:    {made.page}, {len(made.listed)} board{'s' * (len(made.listed) != 1)}")
