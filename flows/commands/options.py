"""Parts that subcommands share: options, their help, settings, and tables on the terminal."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.console import be_quiet, say, watched
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import shown

SERVICES = ("live serve", "schedule", "ui")
"""Commands that go on until they are stopped."""
KINDS = ("algorithms", "data", "suites", "metrics", "frameworks", "plugins", "all")


def arg(text: str, **more: Any) -> Any:
    """Return an argument with its help."""
    return typer.Argument(help=text, show_default=False, **more)


def opt(text: str, metavar: str, *names: str, **more: Any) -> Any:
    """Return an option with its help; `metavar` says what its value is, empty of a flag."""
    return typer.Option(*names, help=text, metavar=metavar, **more)


_ALGORITHM = "Algorithm: a name of `leaseboard list algorithms`, or FILE.py:CLASS."
_SEED, _JSON = "Seed of everything random.", "Print JSON on standard output, for programs."
_LABELS = "When labels arrive: immediate, after=N (rows), with=COLUMN or end (default: guessed)."

AlgorithmName = Annotated[str, arg(_ALGORITHM)]
Algorithms = Annotated[list[str], arg(_ALGORITHM)]
AlgorithmOption = Annotated[str | None, opt(_ALGORITHM, "NAME")]
AsJson = Annotated[bool, opt(_JSON, "", "--json")]
Labels = Annotated[str | None, opt(_LABELS, "WHEN")]
Local = Annotated[bool, opt("Run the same steps without Prefect.", "", "--local")]
Port = Annotated[int, opt("Port to listen on.", "PORT", min=1, max=65535)]
Register = Annotated[str | None, opt("Register the best model in MLflow as challenger.", "NAME")]
RunDir = Annotated[Path | None, opt("Folder for results (default: one below runs).", "DIR")]
Seed = Annotated[int | None, opt(_SEED, "SEED", min=0, max=2**31 - 1)]
Settings = Annotated[list[str] | None, opt("Setting; repeatable.", "KEY=VALUE", "--set")]
Target = Annotated[str | None, opt("Target column (default: last).", "COLUMN")]


def _note(context: typer.Context, param: typer.CallbackParam, value: bool) -> None:
    """Note an option of all commands, for all of this call."""
    if value:
        context.obj.add(param.name)


def _use_conf(value: Path | None) -> None:
    environment.use_conf(value)


def _use_mirrors(value: list[Path] | None) -> None:
    if value:
        os.environ["LEASEBOARD_MIRROR"] = os.pathsep.join(map(str, value))


def _use_store(value: str | None) -> None:
    if value:  # the processes that this one starts inherit it, and other users cannot read it
        os.environ["MLFLOW_TRACKING_URI"] = value


def _everywhere(text: str, metavar: str, *names: str, use: Any = _note) -> Any:
    panel = "Output" if use is _note else "Places"
    return opt(
        text, metavar, *names, callback=use, is_eager=True, expose_value=False,
        rich_help_panel=panel,
    )  # fmt: skip


_CONF = "Configuration folder (default: ./conf)."
_MIRROR = "Read-only folder of data with a catalogue.csv, searched first; repeatable."
_STORE = "MLflow tracking server or store (default: mlruns/mlflow.db here)."
_QUIET = "Print results, warnings and errors, no progress."
_DEBUG = "Show tracebacks of errors."
_common = typer.Typer(add_completion=False)


@_common.command()
def _options(
    conf: Annotated[Path | None, _everywhere(_CONF, "DIR", "--conf", use=_use_conf)] = None,
    mirror: Annotated[
        list[Path] | None, _everywhere(_MIRROR, "DIR", "--mirror", use=_use_mirrors)
    ] = None,
    tracking_uri: Annotated[
        str | None, _everywhere(_STORE, "URI", "--tracking-uri", use=_use_store)
    ] = None,
    quiet: Annotated[bool, _everywhere(_QUIET, "", "--quiet", "-q")] = False,
    debug: Annotated[bool, _everywhere(_DEBUG, "", "--debug")] = False,
) -> None:
    """Declare the options of all commands."""


OF_ALL: list[Any] = typer.main.get_command(_common).params
"""Options of every command and group, so that they are parsed wherever they are written."""


def _with_all(own: list[Any]) -> list[Any]:
    for each in own:
        each.metavar = each.metavar or ""  # --help has no value
    return [*own, *OF_ALL]


class Command(TyperCommand):
    """Command with the options of all commands."""

    def __init__(self, *given: Any, **named: Any) -> None:
        paragraphs = named["help"].split("\n\n")  # which the help breaks as wide as the terminal
        named["help"] = "\n\n".join(" ".join(each.split()) for each in paragraphs)
        for each in named["params"]:
            if each.param_type_name == "argument":  # named as in the text, and without its type
                each.metavar = each.name.upper()
                each.display_type_rich = lambda **_: ""
        super().__init__(*given, **named)

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters, with those of all commands, help and completion."""
        return _with_all(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and show how much of its work is done."""
        name = ctx.command_path.partition(" ")[2]
        be_quiet("quiet" in ctx.obj)
        environment.prepare_environment()  # before a command imports what reads it
        # Without an address Prefect's client starts a server, which outlives a killed command.
        os.environ.setdefault("PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "false")
        with nullcontext() if name in SERVICES else watched(name):
            return super().invoke(ctx)


class Commands(TyperGroup):
    """Group of commands."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters, with those of all commands, help and completion."""
        return _with_all(super().get_params(ctx))


def group(text: str) -> typer.Typer:
    """Return a group of commands with its help."""
    return typer.Typer(cls=Commands, help=text, no_args_is_help=True)


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE pairs as a mapping; lists and mappings are written in YAML flow style.

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
        settings[key] = None if value == "null" else value
        if value.startswith(("[", "{")):
            import yaml

            try:
                settings[key] = yaml.safe_load(value)
            except yaml.YAMLError as error:
                raise UsageError(f"--set value {value!r} is not a YAML list or mapping") from error
    return settings


def show_table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table, one line a row, never wrapped."""
    rows = [tuple(map(shown, row)) for row in rows]
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    for cells in ([(title,)] if title else []) + [columns, *rows]:
        padded = (text.ljust(width) for text, width in zip(cells, widths, strict=False))
        say("  ".join(padded).rstrip())
