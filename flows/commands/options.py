"""Parts that subcommands share: options, their help, settings, and tables on the terminal."""

import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.parts import require
from leaseboard.flows.console import say, set_verbosity, watched
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.machine.terminal import cell, show, shown

Mirrors = list[Path] | None
Conf = Path | None
RunDir = Path | None
Output = Path | None
TrackingUri = str | None
Local = bool
AsJson = Annotated[bool, typer.Option("--json")]
Force = bool
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1)]
OptionalSeed = Annotated[int | None, typer.Option(min=0, max=2**31 - 1)]
Settings = Annotated[list[str] | None, typer.Option("--set")]
FailOn = str | None
Workers = Annotated[int | None, typer.Option(min=1)]
SERVICES = ("live serve", "schedule", "ui")
"""Commands that go on until they are stopped."""
KINDS = ("algorithms", "data", "suites", "metrics", "frameworks", "plugins", "all")


def complete_algorithms() -> list[str]:
    """Return the names that a shell completes for an algorithm."""
    from leaseboard.algorithms import plugins, registry

    return [*registry.names(), *plugins.names("algorithms")]


def complete_lists() -> list[str]:
    """Return the words that a shell completes after `leaseboard list`."""
    return [*KINDS, *complete_algorithms()]


def complete_suites() -> list[str]:
    """Return the names that a shell completes for a suite."""
    return sorted(paths.conf_files("suites", None))


SuiteName = Annotated[str, typer.Argument(autocompletion=complete_suites)]
Algorithm = Annotated[str, typer.Argument(autocompletion=complete_algorithms)]
Algorithms = Annotated[list[str], typer.Argument(autocompletion=complete_algorithms)]
Port = Annotated[int, typer.Option(min=1, max=65535)]

SHARED = {
    "algorithm": "Algorithm: a name of `leaseboard list algorithms`, or FILE.py:CLASS.",
    "at": "Time to use as now, in UTC, such as 2026-11-23T04:00.",
    "data": "Dataset: a file, a name of `leaseboard data list`, or a reference: openml:215.",
    "as_json": "Print JSON on standard output, for programs.",
    "cluster": "Address of a Dask scheduler to run on, such as tcp://10.0.0.1:8786.",
    "conf": "Configuration folder (default: ./conf).",
    "dry_run": "Print what would be done, and do nothing.",
    "fail_on": "Exit with 1 if the diagnostics find one of these codes, such as LB001,LB002.",
    "force": "Do it in spite of the evidence.",
    "local": "Run the same steps without Prefect.",
    "metric": "Metric that ranks, in place of the score, such as mae or skill.",
    "mirror": "Read-only folder of data with a catalogue.csv, searched first; repeatable."
    " It replaces LEASEBOARD_MIRROR.",
    "name": "Name to save it under.",
    "no_baselines": "Do not add naive baselines.",
    "output": "Path to write to.",
    "port": "Port to listen on.",
    "register": "Register the best model in MLflow under this name, as challenger.",
    "run_dir": "Folder for results and state (default: one below runs).",
    "seed": "Seed of everything random.",
    "settings": "Setting of the algorithm or its environment; repeatable.",
    "suite": "Suite: a name of `leaseboard list suites`, or a YAML file.",
    "target": "Target column (default: last).",
    "task": "regression or classification (default: guessed).",
    "tolerance": "Relative drop of the score that passes (default: 0.002).",
    "tracking_uri": "MLflow tracking server or store (default: mlruns/mlflow.db here).",
    "workers": "Number of worker processes (default: number of cores).",
    "yes": "Do it; without this flag, only print what would be done.",
}
"""Meaning of each argument and option of several commands. A docstring adds what is special: a
sentence, or, with a small letter, the end of this one, whose default it replaces."""
_METAVARS = {
    "as_json": "", "at": "TIME", "cluster": "ADDRESS", "conf": "DIR", "host": "ADDRESS",
    "archive": "DIR", "fail_on": "CODES", "identity": "COLUMN",
    "mirror": "DIR", "output": "PATH", "purpose": "stream|table|selection", "run_dir": "DIR",
    "settings": "KEY=VALUE", "split": "random|time|group=COLUMN",
    "target": "COLUMN", "task": "TASK",
    "time": "COLUMN", "tracking_uri": "URI", "files": "PATTERN",
}  # fmt: skip
_DESCRIBED = re.compile(r"^- `(\w+)`: (.*(?:\n  .*)*)\n*", re.MULTILINE)


_TYPES = {"bool": "", "int": "INTEGER", "float": "FLOAT", "Path": "PATH", "str": "NAME"}


def _name_type(param: Any) -> None:
    """Name a parameter's type in words: ``PATH...``, ``FLOAT``, nothing for a flag."""
    if param.param_type_name == "argument":
        param.metavar = param.name.upper() + ("..." if param.nargs != 1 else "")
        param.display_type_rich = lambda **_: ""  # typer shows the type next to the name
    elif param.metavar is None:
        kind = param.type_descriptor.annotation
        param.metavar = _METAVARS.get(param.name, _TYPES.get(kind.__name__, ""))


def _joined(shared: str, own: str) -> str:
    """Return the meaning of an option, with what is special in a command.

    Examples
    --------
    >>> _joined("Target column (default: last).", "required for a new FILE.")
    'Target column: required for a new FILE.'
    >>> _joined("Do it.", "It can be undone.")
    'Do it. It can be undone.'
    """
    if not (shared and own[:1].islower()):
        return f"{shared} {own}".strip()
    start = re.sub(r"( \(default: [^)]*\))?\.$", "", shared)
    return f"{start}{';' if ':' in start else ':'} {own}"


def _note(context: typer.Context, param: typer.CallbackParam, value: bool) -> None:
    """Note an option of all commands, for all of this call."""
    if value:
        context.obj.add(param.name)


def _flag(letters: str, text: str) -> Any:
    return typer.Option(
        *letters.split(), help=text, callback=_note, is_eager=True, expose_value=False,
        rich_help_panel="Output",
    )  # fmt: skip


_everywhere = typer.Typer(add_completion=False)


@_everywhere.command()
def _output(
    quiet: Annotated[
        bool, _flag("--quiet -q", "Print results, warnings and errors, no progress.")
    ] = False,
    verbose: Annotated[
        bool, _flag("--verbose -v", "Print each step and the log of Prefect, too.")
    ] = False,
    debug: Annotated[bool, _flag("--debug", "Show tracebacks of errors.")] = False,
) -> None:
    """Declare the options of all commands."""


OF_ALL: list[Any] = typer.main.get_command(_everywhere).params
"""Options of every command and group, so that they are parsed wherever they are written."""


_PLACES = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "LEASEBOARD_CACHE", "LEASEBOARD_CONF",
           "LEASEBOARD_MIRROR", "LEASEBOARD_STORE", "MLFLOW_TRACKING_URI", "PREFECT_HOME",
           "PREFECT_API_DATABASE_CONNECTION_URL")  # fmt: skip
"""Variables that name files and folders."""


class _Plain:
    """Help that names types in words, and the options of all commands."""

    params: list[Any]

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters, with those of all commands, help and completion."""
        found = [*super().get_params(ctx), *OF_ALL]  # type: ignore[misc]
        for each in found:
            if each.metavar is None:
                _name_type(each)
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the line of usage."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        named = [each for each in self.params if each.param_type_name == "argument"]
        names = [each.metavar if each.required else f"[{each.metavar}]" for each in named]
        return [*(each for each in pieces if each[0] not in "{[" or each == "[OPTIONS]"), *names]


class Command(_Plain, TyperCommand):
    """Command whose docstring lists its arguments and options, in addition to `SHARED`."""

    extra = ""
    """The optional part of the installation that it needs."""

    def __init__(self, *arguments: Any, **given: Any) -> None:
        own = {name: " ".join(text.split()) for name, text in _DESCRIBED.findall(given["help"])}
        for param in given["params"]:
            param.help = _joined(SHARED.get(param.name, ""), own.get(param.name, ""))
            param.secondary_opts = []  # no --no-track
            _name_type(param)
        paragraphs = _DESCRIBED.sub("", given["help"]).split("\n\n")
        given["help"] = "\n\n".join(" ".join(each.split()) for each in paragraphs)
        super().__init__(*arguments, **given)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the line; of too few arguments the last is missing, as B in A... B."""
        line = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param and error.param.required and error.param.nargs == -1:
                values, *_ = self.make_parser(ctx).parse_args(line)
                named = [each for each in self.params if each.param_type_name == "argument"]
                error.param = named[sum(bool(values[each.name]) for each in named)]
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command if the part of the installation that it needs is there."""
        set_verbosity(quiet="quiet" in ctx.obj, verbose="verbose" in ctx.obj)
        named: list[tuple[str, Any]] = [
            (each.metavar if each.param_type_name == "argument" else each.opts[0],
             ctx.params.get(each.name))
            for each in self.params
        ]  # fmt: skip
        named += [("the current folder", Path.cwd()), *((n, os.environ.get(n)) for n in _PLACES)]
        for name, value in named:
            for each in value if isinstance(value, list | tuple) else [value]:
                try:
                    str(each).encode()  # stores, pages and tables hold UTF-8
                except UnicodeEncodeError as error:
                    raise UsageError(
                        f"{name} {str(each)!a} is not UTF-8: give a value that is, and rename a"
                        " file or folder of that name"
                    ) from error
        prepare_environment()  # before a command imports what reads it
        # Without an address Prefect's client starts a server, which outlives a killed command.
        os.environ.setdefault("PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "false")
        if self.extra:
            require(self.extra, ctx.command_path.partition(" ")[2])
        name = ctx.command_path.partition(" ")[2]
        with nullcontext() if name in SERVICES else watched(name):
            return super().invoke(ctx)


class Commands(_Plain, TyperGroup):
    """Group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; raise UsageError for an unknown one."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            lists = f"{ctx.command_path} --help"
            raise unknown("command", args[0], self.commands, lists)
        return super().resolve_command(ctx, args)


class TablesCommand(Command):
    """Command that needs the extra ``tables``."""

    extra = "tables"


class FlowsCommand(Command):
    """Command that needs the extra ``flows``."""

    extra = "flows"


def use_conf(conf: Path | None) -> None:
    """Set --conf for this process and the processes that it starts."""
    if conf is not None:
        os.environ["LEASEBOARD_CONF"] = str(paths.own_conf(conf))


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


def failing_codes(given: FailOn) -> frozenset[str]:
    """Return the codes of --fail-on; UsageError for an unknown one."""
    if given is None:
        return frozenset()
    from leaseboard.tasks.jobs.diagnostic_codes import check_codes

    return frozenset(check_codes(given.split(",")))


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
