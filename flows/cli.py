"""The command `leaseboard`: its subcommands, and an exit code for every outcome."""

import re
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer

from leaseboard.algorithms.errors import (
    DataUnavailableError,
    LeaseboardError,
    SkipError,
    UsageError,
    missing,
)
from leaseboard.flows.commands import learn, listing, live, operate, race, run
from leaseboard.flows.commands.options import Command, Commands, opt
from leaseboard.flows.console import SIGINT_EXIT, InterruptedRunError, say

_CommandLineError: Any = typer.BadParameter.__base__
"""Typer's error for wrong usage; the class has no public name."""

PASSED, REGRESSION, FAILED, NOTHING, USAGE = 0, 1, 2, 3, 64
"""Exit codes; never a count."""


_SURROGATES = re.compile(r"[^\s\"']*[\ud800-\udfff][^\s\"']*")
"""A word in which Python holds bytes that are not UTF-8."""


class _Root(Commands):
    """All commands, in the order of their panels."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for panel in PANELS.values() for name in panel]


app = typer.Typer(
    name="leaseboard",
    cls=_Root,
    help="Train, compare, select and operate machine-learning models under a budget: online"
    " learning, AutoML and model selection on one leaderboard.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS: dict[str, dict[str, typer.Typer | Callable[..., Any]]] = {
    "Start": {"demo": learn.demo, "list": listing.list_all},
    "Learn": {"learn": learn.learn, "predict": learn.predict, "race": race.race},
    "Benchmark": {"run": run.run, "report": run.report, "gate": run.gate},
    "Production": {"live": live.app, "schedule": operate.schedule},
    "Share": {"results": run.archive},
    "Extend": {"check": operate.check, "data": listing.data, "frameworks": listing.frameworks},
    "Maintain": {"doctor": operate.doctor, "ui": operate.ui},
}
"""Commands as the help groups them."""
for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, cls=Command, rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"leaseboard {version('leaseboard')}")
        raise typer.Exit


@app.callback()
def _common(
    show_version: Annotated[
        bool, opt("Print the version.", "", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del show_version


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with one of the codes above."""
    warnings.formatwarning = lambda message, *_, **__: f"leaseboard: warning: {message}\n"
    sys.exit(_call(sys.argv[1:] if arguments is None else arguments))


def _call(arguments: list[str]) -> int:
    given: set[str] = set()
    """Options of all commands that are given."""
    try:
        outcome = app(arguments, standalone_mode=False, prog_name="leaseboard", obj=given)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        outcome = SIGINT_EXIT
    except Exception as error:  # noqa: BLE001  (Python's own code for it, 1, means a regression)
        if type(error).__name__ == "NoArgsIsHelpError":  # it has printed the help already
            return USAGE
        return _complain(*_verdict(error), debug="debug" in given)
    if outcome == SIGINT_EXIT:  # typer returns it as well, for a command's KeyboardInterrupt
        return _complain("stopped by the user; run the same command again", SIGINT_EXIT)
    return outcome if isinstance(outcome, int) else PASSED


def _verdict(error: Exception) -> tuple[str, int]:
    """Return the message of an error, and the exit code."""
    match error:
        case UsageError():
            found = str(error), USAGE
        case ModuleNotFoundError() if said := missing(error.name):
            found = said, USAGE
        case UnicodeEncodeError() if word := _SURROGATES.search(error.object):
            found = f"the name {word[0]!a} is not UTF-8: rename the file or folder", USAGE
        case _CommandLineError():
            found = _misused(error), USAGE
        case DataUnavailableError() | SkipError():
            found = str(error), NOTHING
        case InterruptedRunError():
            found = str(error), error.code
        case LeaseboardError():
            found = str(error), FAILED
        case OSError():
            where = f" {error.filename!r}" if error.filename else ""
            found = f"{error.strerror or error}{where}: fix that, and run it again", FAILED
        case _:
            first = str(error).partition("\n")[0]
            kind = type(error).__name__
            found = f"internal error: {kind}: {first}; repeat with --debug for where", FAILED
    return found


def _misused(error: Any) -> str:
    """Return the message of an error of typer's, with the command that helps."""
    said, context = error.format_message().strip().removesuffix("."), error.ctx
    if context is None:
        return str(said)
    return f"{said}; see `{context.command_path} --help`"


def _complain(message: str, code: int, *, debug: bool = False) -> int:
    """Print one line on standard error, with a traceback only on demand."""
    if debug:
        say(traceback.format_exc(), err=True)
    with suppress(OSError):  # the code says it, too
        say("leaseboard: " + " ".join(message.split()), err=True)
    return code
