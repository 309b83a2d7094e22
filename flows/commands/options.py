"""Options that several subcommands share, declared once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.console import say
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.terminal import cell, show, shown

Mirrors = Annotated[
    list[Path] | None,
    typer.Option(
        "--mirror",
        help="A read-only folder of data with a catalogue.csv, asked first; repeatable."
        " Given, LEASEBOARD_MIRROR does not count.",
    ),
]
Conf = Annotated[
    Path | None, typer.Option("--conf", help="The configuration folder (default: ./conf).")
]
Out = Annotated[Path | None, typer.Option("--out", help="Where to write (default: runs/<name>).")]
TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="The MLflow store (default: mlruns/mlflow.db here)."),
]
SuiteName = Annotated[str, typer.Argument(help="A name of conf/suites, or a YAML file.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes (default: cores).")]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="A Dask scheduler, such as tcp://10.0.0.1:8786, to run on."),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric", help="What ranks on the board in the place of the score, such as mae or skill."
    ),
]
NoBaselines = Annotated[
    bool,
    typer.Option(
        "--no-baselines", help="Do not add the naive baselines that the suite does not name."
    ),
]
Local = Annotated[bool, typer.Option("--local", help="The same steps without Prefect.")]


def use_conf(conf: Path | None) -> None:
    """Make --conf hold for all that runs from here, worker processes among it."""
    if conf is not None:
        os.environ["LEASEBOARD_CONF"] = str(paths.own_conf(conf))


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs as a mapping; lists and mappings are written as YAML flow style.

    Examples
    --------
    >>> parse_settings(["b=5", "rates=[0.1, 0.5]", "limit=null"])
    {'b': '5', 'rates': [0.1, 0.5], 'limit': None}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair!r} is not KEY=VALUE: write for example --set b=5")
        if key in settings:
            raise UsageError(f"--set names {key!r} twice: keep one")
        settings[key] = _value(value)
    return settings


def _value(text: str) -> Any:
    if text == "null":
        return None
    if text.startswith(("[", "{")):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(f"--set value {text!r} is no YAML list or mapping") from error
    return text


def show_table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a table: on a terminal as wide as that, elsewhere one line a row, never wrapped."""
    rows = [tuple(map(shown, row)) for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
        for cells in ([(title,)] if title else []) + [columns, *rows]:
            padded = (text.ljust(width) for text, width in zip(cells, widths, strict=False))
            say("  ".join(padded).rstrip())
        return
    from rich.table import Table

    table = Table(title=cell(title), title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        table.add_row(*map(cell, row))
    show(table)
