"""``leaseboard list``: what there is to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import Conf, Mirrors

if TYPE_CHECKING:
    from rich.table import Table


def list_all(
    what: Annotated[str, typer.Argument(help="algorithms, data, suites, or all.")] = "all",
    mirror: Mirrors = None,
    conf: Conf = None,
) -> None:
    """List algorithms, data sets and suites, each with one line and its source.

    Example: leaseboard list algorithms
    """
    from rich.console import Console

    from algorithms.errors import unknown
    from tasks import paths

    kinds = {"algorithms": _algorithms, "data": _data, "suites": _suites}
    if what not in (*kinds, "all"):
        raise unknown("list", what, (*kinds, "all"))
    folder = paths.conf_dir(conf)
    mirrors = paths.mirrors(tuple(mirror or ()))
    console = Console(highlight=False)
    for kind, make in kinds.items():
        if what in (kind, "all"):
            console.print(make(folder, mirrors))


def _table(title: str, rows: list[tuple[str, ...]], columns: tuple[str, ...]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _algorithms(_conf: Path, _mirrors: tuple[Path, ...]) -> Table:
    from algorithms.registry import ENTRIES

    rows = [(entry.name, entry.summary, entry.source) for entry in ENTRIES]
    return _table("Algorithms", rows, ("name", "what", "source"))


def _suites(conf: Path, _mirrors: tuple[Path, ...]) -> Table:
    from tasks.config import load_suite, suite_names

    rows = []
    for name in suite_names(conf):
        suite = load_suite(name, conf)
        rows.append((name, suite.title, f"{len(suite.jobs())} jobs"))
    return _table("Suites", rows, ("name", "what", "size"))


def _data(conf: Path, mirrors: tuple[Path, ...]) -> Table:
    from tasks.fetch import catalogue

    rows = [(entry.reference, entry.summary, entry.source) for entry in catalogue(conf, mirrors)]
    return _table("Data", rows, ("name", "what", "source"))
