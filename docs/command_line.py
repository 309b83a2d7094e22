"""Reference of the command line, which ``make docs`` makes of the help of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from leaseboard.flows.cli import PANELS, app

PAGE = Path(__file__).parent / "reference" / "command-line.md"
TOP = """\
# Command line

`leaseboard COMMAND --help` prints what is here. `-q` (`--quiet`) prints results, warnings and
errors only, and `--debug` the traceback of an error. You can write them before or after the
command.
`leaseboard --version` prints the version.

**Completion.** `leaseboard --install-completion` sets up your shell (bash, zsh, fish or
PowerShell), so that the tab key completes commands and options. Start a new shell afterwards.
`leaseboard --show-completion` prints the script without installing it.

An option has one meaning in all commands. Where a command prints JSON (`--json`), progress goes to
standard error. [Exit codes](../operations.md#exit-codes) are the same for all commands: 0 passed,
1 regression, 2 a run failed, 3 nothing was compared or run, 64 wrong usage.
"""


def page() -> str:
    """Return the page, in Markdown."""
    root: Any = typer.main.get_command(app)
    parts = [TOP]
    for panel, commands in PANELS.items():
        parts.append(f"## {panel}\n")
        for name in commands:
            for words, command in _below(root.commands[name], name):
                parts += _described(words, command)
    return "\n".join(parts).rstrip() + "\n"


def _below(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yield a command, or every one of a group, with its words."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, child in command.commands.items():
        yield from _below(child, f"{words} {name}")


def _described(words: str, command: Any) -> Iterator[str]:
    """Yield the lines of a command."""
    usage = " ".join(command.collect_usage_pieces(typer.Context(command)))
    text, _, example = command.help.partition("Example: ")
    yield f"### {words}\n"
    yield f"```console\n$ leaseboard {words} {usage}\n```\n"
    yield f"{text.strip()}\n"
    yield f"Example:\n\n```console\n$ {example.strip()}\n```\n"
    rows = [_row(each) for each in command.params]
    if rows:
        yield "| name | value | meaning | default |\n| --- | --- | --- | --- |"
        yield "\n".join(rows) + "\n"


def _row(param: Any) -> str:
    """Return the row of an argument or option."""
    argument = param.param_type_name == "argument"
    name = param.metavar if argument else ", ".join(param.opts)
    value = "" if argument or not param.metavar else f"`{param.metavar}`".replace("|", "\\|")
    default = "required" if param.required else ""
    if param.default not in (None, False, ()) and not param.required:
        default = f"`{param.default}`"
    return f"| `{name}` | {value} | {param.help} | {default} |"
