"""Options that several subcommands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Mirrors = Annotated[
    list[Path] | None,
    typer.Option(
        "--mirror",
        help="A read-only folder of data with a catalogue.csv, asked first; repeatable.",
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
Local = Annotated[bool, typer.Option("--local", help="The same steps without Prefect.")]


def output_folder(path: Path) -> Path:
    """`path` as an existing, writable folder."""
    import os

    from algorithms.errors import UsageError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {str(path)!r}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise UsageError(f"cannot write to {str(path)!r}: name a writable folder with --out")
    return path.resolve()
