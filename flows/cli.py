"""The command `leaseboard`: names the subcommands and turns every outcome into an exit code."""

from __future__ import annotations

import gc
import sys
import traceback
import warnings
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from leaseboard.algorithms.errors import (
    DataUnavailableError,
    LeaseboardError,
    SkipError,
    UsageError,
)
from leaseboard.algorithms.parts import lacking, require
from leaseboard.flows.commands import (
    archive,
    gate,
    learn,
    listing,
    live,
    model,
    operate,
    race,
    run,
)
from leaseboard.flows.console import SIGINT_EXIT, InterruptedRunError, say
from leaseboard.tasks.machine.environment import prepare_environment

_CommandLineError: Any = typer.BadParameter.__base__
"""What typer raises for wrong usage; it offers the class under no public name."""

PASSED, REGRESSION, FAILED, NOTHING, USAGE = 0, 1, 2, 3, 64
"""Exit codes; never a count."""


class _TablesCommand(TyperCommand):
    """A command that needs a part of the installation, and says so before it does anything."""

    part = "tables"

    def invoke(self, ctx: Any) -> Any:
        require(self.part, str(self.name))
        return super().invoke(ctx)


class _FlowsCommand(_TablesCommand):
    part = "flows"


app = typer.Typer(
    name="leaseboard",
    help="Benchmark schedulers of machine-learning work: ChaCha, apple, Rising Bandits,"
    " ER-UCB, ABC and their baselines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", cls=_FlowsCommand)(run.run)
app.command("plan")(run.plan)
app.command("race", cls=_TablesCommand)(race.race)
app.command("list")(listing.list_all)
app.add_typer(listing.data)
app.add_typer(listing.peers)
app.command("report", cls=_FlowsCommand)(run.report)
app.command("gate", cls=_FlowsCommand)(gate.gate)
app.command("accept", cls=_FlowsCommand)(gate.accept)
app.command("compare")(run.compare)
app.command("learn", cls=_TablesCommand)(learn.learn)
app.command("predict", cls=_TablesCommand)(learn.predict)
app.add_typer(model.app, name="model")
app.command("keep", cls=_FlowsCommand)(live.keep)
app.command("check", cls=_TablesCommand)(operate.check)
app.command("export")(archive.export)
app.command("merge", cls=_FlowsCommand)(archive.merge)
app.command("verify", cls=_TablesCommand)(archive.verify)
app.command("publish", cls=_FlowsCommand)(archive.publish)
app.command("prune", cls=_FlowsCommand)(archive.prune)
app.command("schedule", cls=_FlowsCommand)(live.schedule)
app.command("serve", cls=_FlowsCommand)(live.serve)
app.command("ui", cls=_FlowsCommand)(operate.ui)
app.command("doctor", cls=_FlowsCommand)(operate.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"leaseboard {version('leaseboard')}")
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del debug, show_version
    prepare_environment()  # before a command imports what reads it


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with one of the codes above."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a sign that it cannot show must not end a run
            stream.reconfigure(errors="backslashreplace")
    warnings.formatwarning = lambda message, *_, **__: f"leaseboard: warning: {message}\n"
    if arguments is None:  # this is the program, and no call in somebody's process
        gc.set_threshold(100_000)  # thousands of results stay alive: a tenth of a rerun
        arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if debug:  # also after the subcommand, where people write it
        arguments = [argument for argument in arguments if argument != "--debug"]
    sys.exit(_call(arguments, debug=debug))


def _call(arguments: list[str], *, debug: bool) -> int:
    try:
        outcome = app(arguments, standalone_mode=False, prog_name="leaseboard", obj=debug)
    except (typer.Abort, KeyboardInterrupt):
        outcome = SIGINT_EXIT
    except Exception as error:  # noqa: BLE001  (Python's own code for it, 1, means a regression)
        if type(error).__name__ == "NoArgsIsHelpError":  # it has printed the help already
            return USAGE
        return _complain(*_verdict(error), debug=debug)
    if outcome == SIGINT_EXIT:  # typer returns it as well, for a command's KeyboardInterrupt
        return _complain("stopped by the user; run the same command again", SIGINT_EXIT)
    return outcome if isinstance(outcome, int) else PASSED


def _verdict(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, _CommandLineError):
        return error.format_message(), USAGE
    if isinstance(error, ModuleNotFoundError) and (told := lacking(error.name)):
        return told, USAGE
    match error:
        case UsageError():
            return str(error), USAGE
        case DataUnavailableError() | SkipError():
            return str(error), NOTHING
        case InterruptedRunError():
            return str(error), error.code
        case LeaseboardError():
            return str(error), FAILED
        case OSError():
            where = f" {error.filename!r}" if error.filename else ""
            return f"{error.strerror or error}{where}", FAILED
        case _:
            first = str(error).partition("\n")[0]
            kind = type(error).__name__
            return f"internal error: {kind}: {first}; repeat with --debug for where", FAILED


def _complain(message: str, code: int, *, debug: bool = False) -> int:
    """One line on standard error, with a traceback only on demand."""
    if debug:
        say(traceback.format_exc(), err=True)
    say("leaseboard: " + " ".join(message.split()), err=True)
    return code


if __name__ == "__main__":
    main()
